/** The progress log in a real clone: what git sees of it, what stays of a person's, and what is refused. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { WorkflowEvent } from '@autonomous/shared';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import { progressFiles } from '../../workflows/backlog/progress-file.ts';
import { openProgressLog } from './progress-log-file.ts';

const FILE = 'ai/diary/autopilot-progress.log.md';
const AT = '2026-02-02T10:00:00.000Z';
const HEAD = `# Ralph Autopilot Progress\nStarted: ${AT}\n`;

let temporary: ReturnType<typeof temporaryFolder>;
let top: string;
let said: string;
beforeEach(() => {
  temporary = temporaryFolder();
  top = join(temporary.path, 'clone');
  said = '';
  execFileSync('git', ['init', '--quiet', top]);
});
afterEach(() => temporary.remove());

const sink = new Writable({
  write(chunk: Buffer, _encoding, done) {
    said += chunk.toString();
    done();
  },
});
const opened = (id = 'r-1') =>
  openProgressLog(
    { stdin: Readable.from([]), stdout: sink, stderr: sink, env: {}, cwd: top, program: 'autonomous' },
    top,
    FILE,
    { id, textOf: (events) => Object.values(progressFiles({ createdAt: AT }, events)).join('') },
  );
const changed = (sequence: number, item: string, status: string, workflowRunId = 'r-1'): WorkflowEvent => ({
  id: `e-${sequence}`,
  workflowRunId,
  sequence,
  position: sequence,
  origin: 'emitted',
  type: 'ITEM_CHANGED',
  payload: { item, iteration: 1, status, reason: '' },
  timestamp: AT,
});
const text = (): string => readFileSync(join(top, FILE), 'utf8');
const git = (...args: readonly string[]): string => execFileSync('git', ['-C', top, ...args], { encoding: 'utf8' });

it('is written while the run is followed, once for an event that comes again, where git ignores it', async () => {
  const log = await opened();
  for (const event of [changed(1, 'A-1', 'in_progress'), changed(2, 'X', 'done', 'r-2')]) log?.take(event);
  await log?.written();
  expect(text()).toBe(`${HEAD}\n## Iteration 1: A-1\nStarted: ${AT}\n`);
  for (const event of [changed(1, 'A-1', 'in_progress'), changed(3, 'A-1', 'done')]) log?.take(event);
  await log?.written();
  expect(text()).toBe(`${HEAD}\n## Iteration 1: A-1\nStarted: ${AT}\nExit code: 0\nStatus: done\nCompleted: ${AT}\n`);
  expect(git('status', '--porcelain', '--untracked-files=all')).toBe('');
  expect([said, readFileSync(join(top, '.git/info/exclude'), 'utf8').split(`/${FILE}\n`).length]).toEqual(['', 2]);
});

it('leaves the list of the clone alone where the repository ignores the log', async () => {
  mkdirSync(join(top, 'ai/diary'), { recursive: true });
  writeFileSync(join(top, 'ai/diary/.gitignore'), '/autopilot-progress.log.md\n');
  rmSync(join(top, '.git/info'), { recursive: true, force: true });
  expect(await opened()).not.toBeNull();
  expect(existsSync(join(top, '.git/info'))).toBe(false);
});

it('keeps what is there, also what comes to it meanwhile', async () => {
  mkdirSync(join(top, 'ai/diary'), { recursive: true });
  writeFileSync(join(top, FILE), 'Mine');
  const [one, other] = [await opened('r-1'), await opened('r-2')];
  one?.take(changed(1, 'A-1', 'in_progress'));
  await one?.written();
  other?.take(changed(1, 'B-1', 'in_progress', 'r-2'));
  await other?.written();
  writeFileSync(join(top, FILE), `${text()}A note of mine.\n`);
  one?.take(changed(2, 'A-1', 'done'));
  await one?.written();
  expect(text()).toBe(
    `Mine\n\n${HEAD}\n## Iteration 1: A-1\nStarted: ${AT}\nExit code: 0\nStatus: done\nCompleted: ${AT}\n` +
      `\n${HEAD}\n## Iteration 1: B-1\nStarted: ${AT}\nA note of mine.\n`,
  );
});

it('is not written to a file that git tracks, and says so', async () => {
  mkdirSync(join(top, 'ai/diary'), { recursive: true });
  writeFileSync(join(top, FILE), 'Mine\n');
  git('add', FILE);
  expect(await opened()).toBeNull();
  expect(said).toContain('git tracks the file');
  expect(text()).toBe('Mine\n');
});

it('is not written through a link, neither one that was there nor one that comes', async () => {
  mkdirSync(join(temporary.path, 'elsewhere'));
  symlinkSync(join(temporary.path, 'elsewhere'), join(top, 'ai'));
  expect(await opened()).toBeNull();
  expect(said).toContain('ai is a symbolic link');
  rmSync(join(top, 'ai'));
  const log = await opened();
  mkdirSync(join(top, 'ai/diary'), { recursive: true });
  symlinkSync(join(temporary.path, 'elsewhere/file'), join(top, FILE));
  log?.take(changed(1, 'A-1', 'in_progress'));
  log?.take(changed(2, 'A-1', 'done'));
  await log?.written();
  expect(existsSync(join(temporary.path, 'elsewhere/file'))).toBe(false);
  expect(said.match(/is not written to/g)).toHaveLength(2);
});
