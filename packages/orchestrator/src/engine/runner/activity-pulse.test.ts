import { describe, expect, it } from 'vitest';
import { ActivityPulse } from './activity-pulse.ts';

describe('the pulse of an activity', () => {
  it('names the activity before it has reported anything', () => {
    expect(new ActivityPulse('pushBranch', 1_000).at(4_500)).toEqual({
      activity: 'pushBranch',
      what: 'PushBranch',
      elapsedMs: 3_500,
    });
  });

  it('has the running command, its time and its last line', () => {
    const pulse = new ActivityPulse('check', 0);
    pulse.note({ kind: 'command', text: '$ npm test' }, 10_000);
    pulse.note({ kind: 'output', text: 'first\nsec' }, 11_000);
    pulse.note({ kind: 'output', text: 'ond\n\n' }, 12_000);
    expect(pulse.at(13_000)).toEqual({ activity: 'check', what: 'npm test', elapsedMs: 3_000, lastLine: 'second' });
  });

  it('takes the newest state of a line that is rewritten, without colours', () => {
    const pulse = new ActivityPulse('setUp', 0);
    pulse.note({ kind: 'output', text: '\u001b[32m10 %\u001b[0m\r\u001b[32m20 %\u001b[0m' }, 0);
    expect(pulse.at(0).lastLine).toBe('20 %');
  });

  it('keeps the beginning of a step that is told again, with its newest size', () => {
    const pulse = new ActivityPulse('check', 0);
    pulse.note({ kind: 'pulse', text: 'checking out the files' }, 1_000);
    pulse.note({ kind: 'pulse', text: 'checking out the files', bytes: 5, files: 2 }, 3_000);
    expect(pulse.at(4_000)).toMatchObject({ what: 'checking out the files', elapsedMs: 3_000, bytes: 5, files: 2 });
    pulse.note({ kind: 'command', text: '$ npm test' }, 5_000);
    expect(pulse.at(5_000)).toEqual({ activity: 'check', what: 'npm test', elapsedMs: 0 });
  });

  it('gives a size to the command that writes it', () => {
    const pulse = new ActivityPulse('setUp', 0);
    pulse.note({ kind: 'command', text: '$ npm ci' }, 0);
    pulse.note({ kind: 'pulse', text: '' }, 0);
    pulse.note({ kind: 'pulse', text: '', bytes: 7 }, 2_000);
    expect(pulse.at(2_000)).toMatchObject({ what: 'npm ci', elapsedMs: 2_000, bytes: 7 });
  });

  it('keeps no more than a line of a command that writes none', () => {
    const pulse = new ActivityPulse('check', 0);
    for (let times = 0; times < 100; times += 1) pulse.note({ kind: 'output', text: 'x'.repeat(10_000) }, 0);
    expect(pulse.at(0).lastLine).toHaveLength(200);
  });
});
