import { PassThrough } from 'node:stream';
import type { Progress } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import type { CliIo } from '../io.ts';
import { LiveLine } from './live-line.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const pulse = (seconds: number, activity = 'checkAsIs'): Progress => ({
  runId: 'r-1',
  activity,
  kind: 'pulse',
  text: 'npm test',
  what: 'npm test',
  elapsedMs: seconds * 1_000,
  lastLine: `ok ${seconds}`,
  bytes: 3_400_000,
  at: new Date(START + seconds * 1_000).toISOString(),
});

function shownOn(stdout: { readonly isTTY: boolean; readonly columns?: number }) {
  const written: string[] = [];
  const output = Object.assign(new PassThrough(), stdout, { write: (text: string) => written.push(text) > 0 });
  const io: CliIo = {
    stdin: new PassThrough(),
    stdout: output,
    stderr: output,
    env: {},
    cwd: '/',
    program: 'autonomous',
  };
  const logged: string[] = [];
  return { line: new LiveLine(io, ({ lastLine = '' }) => logged.push(lastLine)), written, logged };
}

describe('the line of what a run is at', () => {
  it('is drawn again in its place on a terminal, and taken away with its activity', () => {
    const { line, written, logged } = shownOn({ isTTY: true });
    line.show(pulse(12));
    line.show(pulse(14));
    line.end('checkAsIs');
    expect(written).toEqual([
      '\r\u001b[2K  … npm test · 12 s · 3 MB · ok 12',
      '\r\u001b[2K  … npm test · 14 s · 3 MB · ok 14',
      '\r\u001b[2K',
    ]);
    expect(logged).toEqual([]);
  });

  it('is no wider than the terminal', () => {
    const { line, written } = shownOn({ isTTY: true, columns: 30 });
    line.show(pulse(12));
    expect(written).toEqual(['\r\u001b[2K  … npm test · 12 s · 3 MB · '.slice(0, 5 + 29)]);
  });

  it('is logged every 30 seconds where there is no terminal', () => {
    const { line, written, logged } = shownOn({ isTTY: false });
    for (let seconds = 2; seconds <= 70; seconds += 2) line.show(pulse(seconds));
    expect(logged).toEqual(['ok 30', 'ok 60']);
    expect(written).toEqual([]);
  });
});
