import { PassThrough } from 'node:stream';
import type { RunView } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import type { CliIo } from '../io.ts';
import { endOf } from './follow-started.ts';

const published = { branch: 'autonomous/r-1-login', commit: 'c'.repeat(40), pushed: true };
const merged = {
  baseBranch: 'main',
  commit: 'd'.repeat(40),
  strategy: 'squash',
  at: '2030-01-01T00:00:00.000Z',
} as const;

/** Lines for the end of a run that was followed. */
function saidAtEnd(run: Partial<RunView>): string {
  const stdout = new PassThrough();
  const io = { stdout, stderr: new PassThrough(), program: 'autonomous', env: {} } as unknown as CliIo;
  endOf(io, { run: aRun({ gate: null, ...run }), workflow: undefined, position: 1, interrupted: false }, false);
  return String(stdout.read() ?? '');
}

it('a completed run names the commands that show its branch and take it in', () => {
  expect(saidAtEnd({ status: 'completed', published })).toBe(
    `  git diff main...${published.branch}\n  git merge ${published.branch}  # in a clone of the repository: git fetch, then git merge origin/${published.branch}\n`,
  );
});

it.each<[string, Partial<RunView>]>([
  ['was merged', { status: 'completed', published, merged }],
  ['has a pull request', { status: 'completed', published: { ...published, pullRequest: { number: 1, url: 'u' } } }],
  ['was not pushed', { status: 'completed', published: { ...published, pushed: false } }],
  ['has failed', { status: 'failed', published }],
])('a run that %s names none', (_, run) => {
  expect(saidAtEnd(run)).toBe('');
});
