import { describe, expect, it } from 'vitest';
import { findHooks, withHooks, withoutHooks } from './claude-settings.ts';

const COMMANDS = {
  Stop: 'autonomous hook stop',
  PreCompact: 'autonomous hook checkpoint',
  SessionStart: 'autonomous hook resume',
};
const other = (command: string) => ({ type: 'command', command });
const ours = (event: keyof typeof COMMANDS, matcher: string, timeout: number) => ({
  matcher,
  hooks: [{ ...other(COMMANDS[event]), timeout }],
});
const STOP = ours('Stop', '', 30);
const COMPACT = ours('PreCompact', '', 60);
const START = ours('SessionStart', 'compact|clear', 30);
const OURS = { Stop: [STOP], PreCompact: [COMPACT], SessionStart: [START] };
const text = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

describe('the hooks in settings', () => {
  it.each<[string, object, object]>([
    ['nothing', {}, { hooks: OURS }],
    ['other settings', { model: 'opus' }, { model: 'opus', hooks: OURS }],
    [
      'hooks of other events',
      { hooks: { PreToolUse: [{ hooks: [other('x')] }] }, model: 'opus' },
      { hooks: { PreToolUse: [{ hooks: [other('x')] }], ...OURS }, model: 'opus' },
    ],
    [
      'other hooks of these events',
      {
        hooks: {
          Stop: [{ hooks: [other('x'), other('y')] }],
          SessionStart: [{ matcher: 'startup', hooks: [other('z')] }],
        },
      },
      {
        hooks: {
          Stop: [{ hooks: [other('x'), other('y')] }, STOP],
          SessionStart: [{ matcher: 'startup', hooks: [other('z')] }, START],
          PreCompact: [COMPACT],
        },
      },
    ],
  ])('are added to %s, and taken out so that all is as before', (_, before, after) => {
    expect(withHooks(text(before), COMMANDS)).toBe(text(after));
    const found = Object.entries(COMMANDS).map(([event, command]) => expect.objectContaining({ event, command }));
    expect(findHooks(text(after))).toEqual({ ok: true, found });
    expect(withoutHooks(text(after)).replaceAll(/\s/g, '')).toBe(text(before).replaceAll(/\s/g, ''));
  });

  it('get other commands where they are, and their matchers stay', () => {
    const settings = (commands: typeof COMMANDS) =>
      text({
        hooks: {
          Stop: [{ hooks: [other('x'), other(commands.Stop)] }],
          PreCompact: [{ matcher: 'auto', hooks: [other(commands.PreCompact)] }],
          SessionStart: [{ matcher: 'compact|clear|resume', hooks: [other(commands.SessionStart)] }],
        },
      });
    const older = {
      Stop: 'npx --yes autonomous-orchestrator hook stop',
      PreCompact: 'npx --yes autonomous-orchestrator hook checkpoint',
      SessionStart: 'npx --yes autonomous-orchestrator hook resume',
    };
    expect(withHooks(settings(older), COMMANDS)).toBe(settings(COMMANDS));
  });

  it('are taken out of each group that has them, and the others stay', () => {
    const settings = text({
      hooks: {
        Stop: [{ hooks: [other(COMMANDS.Stop), other('x')] }, STOP, STOP],
        PreCompact: [COMPACT, COMPACT],
        SessionStart: [{ hooks: [other(COMMANDS.SessionStart)] }, { hooks: [other('y')] }],
        Stopped: 7,
      },
    });
    expect(JSON.parse(withoutHooks(settings))).toEqual({
      hooks: { Stop: [{ hooks: [other('x')] }], SessionStart: [{ hooks: [other('y')] }], Stopped: 7 },
    });
  });

  it('leave comments beside their entries', () => {
    const settings = '{\n  // The model.\n  "model": "opus", // the large one\n}\n';
    const after = withHooks(settings, COMMANDS);
    expect(after).toMatch(/^\{\n {2}\/\/ The model\.\n {2}"model": "opus", \/\/ the large one\n {2}"hooks": \{\n/);
    expect(withoutHooks(after)).toBe(settings);
  });

  it.each([
    ['{', 'is not JSON from line 1 on (CloseBraceExpected)'],
    ['', 'is not JSON from line 1 on (ValueExpected)'],
    ['{\n  "a": 1\n  "b": 2\n}', 'is not JSON from line 3 on (CommaExpected)'],
    ['[]', 'is not a JSON object'],
    ['['.repeat(300_000), 'is nested deeper than 100 levels'],
    ['{"hooks": []}', "has a field 'hooks' that is not an object"],
    ['{"hooks": {"Stop": {}}}', "has a field 'hooks.Stop' that is not a list"],
    ['{"hooks": {"PreCompact": 7}}', "has a field 'hooks.PreCompact' that is not a list"],
    ['{"hooks": {"Stop": []}, "hooks": {"PreCompact": []}}', "has the field 'hooks' more than once"],
    ['{"hooks": {"Stop": [], "Other": [], "Stop": []}}', "has the field 'hooks.Stop' more than once"],
  ])('cannot be added to %j', (settings, fault) => {
    expect(findHooks(settings)).toEqual({ ok: false, fault });
  });

  it('are added beside a name that objects have from elsewhere', () => {
    const settings = '{\n  "hooks": { "__proto__": { "Stop": [{ "hooks": [{}] }] } }\n}\n';
    const after = withHooks(settings, COMMANDS);
    expect(findHooks(after)).toMatchObject({ ok: true, found: { length: 3 } });
    expect(after).toContain('"__proto__": { "Stop": [{ "hooks": [{}] }] }');
    expect(withoutHooks(after).replaceAll(/\s/g, '')).toBe(settings.replaceAll(/\s/g, ''));
  });

  it.each([
    { hooks: { Stop: [null, 7, { hooks: 'x' }, { hooks: [null, { type: 'prompt', prompt: COMMANDS.Stop }] }] } },
    { hooks: { SubagentStop: [STOP], Stop: [COMPACT], SessionStart: [STOP] } },
  ])('are not found among other things: %j', (settings) => {
    expect(findHooks(text(settings))).toEqual({ ok: true, found: [] });
    expect(withoutHooks(text(settings))).toBe(text(settings));
  });
});
