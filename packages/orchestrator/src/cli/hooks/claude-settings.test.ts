import { describe, expect, it } from 'vitest';
import { findStopHooks, withoutStopHooks, withStopHook } from './claude-settings.ts';

const COMMAND = 'autonomous hook stop';
const OURS = { matcher: '', hooks: [{ type: 'command', command: COMMAND, timeout: 30 }] };
const other = (command: string) => ({ type: 'command', command });
const text = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

describe('the hook in settings', () => {
  it.each<[string, object, object]>([
    ['nothing', {}, { hooks: { Stop: [OURS] } }],
    ['other settings', { model: 'opus' }, { model: 'opus', hooks: { Stop: [OURS] } }],
    [
      'hooks of other events',
      { hooks: { PreToolUse: [{ hooks: [other('x')] }] }, model: 'opus' },
      { hooks: { PreToolUse: [{ hooks: [other('x')] }], Stop: [OURS] }, model: 'opus' },
    ],
    [
      'other Stop hooks',
      { hooks: { Stop: [{ hooks: [other('x'), other('y')] }] } },
      { hooks: { Stop: [{ hooks: [other('x'), other('y')] }, OURS] } },
    ],
  ])('is added to %s, and taken out so that all is as before', (_, before, after) => {
    expect(withStopHook(text(before), COMMAND)).toBe(text(after));
    expect(findStopHooks(text(after))).toMatchObject({ ok: true, found: [{ command: COMMAND }] });
    expect(withoutStopHooks(text(after)).replaceAll(/\s/g, '')).toBe(text(before).replaceAll(/\s/g, ''));
  });

  it('gets another command where it is', () => {
    const settings = (command: string) => text({ hooks: { Stop: [{ hooks: [other('x'), other(command)] }] } });
    expect(withStopHook(settings('npx --yes autonomous-orchestrator hook stop'), COMMAND)).toBe(settings(COMMAND));
  });

  it('is taken out of each group that has it, and the others stay', () => {
    const settings = text({ hooks: { Stop: [{ hooks: [other(COMMAND), other('x')] }, OURS, OURS], Stopped: 7 } });
    expect(JSON.parse(withoutStopHooks(settings))).toEqual({ hooks: { Stop: [{ hooks: [other('x')] }], Stopped: 7 } });
  });

  it('leaves comments beside their entries', () => {
    const settings = '{\n  // The model.\n  "model": "opus", // the large one\n}\n';
    const after = withStopHook(settings, COMMAND);
    expect(after).toMatch(/^\{\n {2}\/\/ The model\.\n {2}"model": "opus", \/\/ the large one\n {2}"hooks": \{\n/);
    expect(withoutStopHooks(after)).toBe(settings);
  });

  it.each([
    ['{', 'is not JSON from line 1 on (CloseBraceExpected)'],
    ['', 'is not JSON from line 1 on (ValueExpected)'],
    ['{\n  "a": 1\n  "b": 2\n}', 'is not JSON from line 3 on (CommaExpected)'],
    ['[]', 'is not a JSON object'],
    ['{"hooks": []}', "has a field 'hooks' that is not an object"],
    ['{"hooks": {"Stop": {}}}', "has a field 'hooks.Stop' that is not a list"],
  ])('cannot be added to %j', (settings, fault) => {
    expect(findStopHooks(settings)).toEqual({ ok: false, fault });
  });

  it.each([
    { hooks: { Stop: [null, 7, { hooks: 'x' }, { hooks: [null, { type: 'prompt', prompt: COMMAND }] }] } },
    { hooks: { SubagentStop: [OURS] } },
  ])('is not found among other things: %j', (settings) => {
    expect(findStopHooks(text(settings))).toEqual({ ok: true, found: [] });
    expect(withoutStopHooks(text(settings))).toBe(text(settings));
  });
});
