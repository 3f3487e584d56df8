/** The command `backlog run` against a real server: its exit codes, and what it refuses. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { aScript, aServer, FILES, type Fixture, runs, when, writes } from '../fixtures/orchestrator.fixture.ts';

const TABLE = `# Backlog

| ID | Title | Status | Priority | Depends on |
|---|---|---|---|---|
| A-1 | A bell | queued | P2 | |
| A-10 | A horn | queued | P1 | A-1 |
| A-2 | Old | done | P1 | |
`;

const FILES_WITH_TABLE = { ...FILES, 'ai/backlog.md': TABLE };

async function aBacklog(): Promise<Fixture & { clone: string }> {
  const implementer = [when('A-10: A horn', runs('true')), when('A-1: A bell', writes({ 'bell.sh': 'echo ding\n' }))];
  const server = await aServer({ files: FILES_WITH_TABLE, script: aScript({ implementer }) });
  const clone = path.join(server.folder, 'clone');
  execFileSync('git', ['clone', '--quiet', server.remote, clone], { stdio: 'pipe' });
  return { ...server, clone };
}

async function cli({ clone, orchestrator }: Fixture & { clone: string }, ...words: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    });
  const exitCode = await runCli(words, {
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: { AUTONOMOUS_TOKEN: orchestrator.token, AUTONOMOUS_SERVER: orchestrator.server.url },
    cwd: clone,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}

it('shows the items in their order without a server, and says which one there is not', async () => {
  const server = await aBacklog();
  const shown = await cli(server, 'backlog', 'run', '--dry-run');
  expect(shown).toMatchObject({
    exitCode: 0,
    stdout: 'A-1  queued, P2  A bell\nA-10  queued, P1, after A-1  A horn\n',
  });
  expect(await cli(server, 'backlog', 'run', '--dry-run', '--item', 'A-3')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('Item not found: A-3'),
  });
  const missing = await cli(server, 'backlog', 'run', 'ai/none.md', '--dry-run');
  expect([missing.exitCode === 0, missing.stderr]).toEqual([false, expect.stringContaining('ai/none.md')]);
  expect((await server.client.listRuns({})).items).toEqual([]);
});

it('shows the table that the configuration of the repository names, in its own words', async () => {
  const server = await aBacklog();
  const at = (name: string): string => path.join(server.clone, name);
  const backlog = { file: 'todo.md', columns: { id: 'Nr' }, statusWords: { open: 'queued' } };
  mkdirSync(at('.autonomous'), { recursive: true });
  writeFileSync(at('.autonomous/config.json'), JSON.stringify({ backlog }));
  writeFileSync(at('todo.md'), TABLE.replace('| ID |', '| Nr |').replaceAll('| queued', '| open'));
  const shown = await cli(server, 'backlog', 'run', '--dry-run');
  expect(shown).toMatchObject({
    exitCode: 0,
    stdout: 'A-1  queued, P2  A bell\nA-10  queued, P1, after A-1  A horn\n',
  });
  writeFileSync(at('.autonomous/config.json'), JSON.stringify({ backlog: { columns: { id: 7 } } }));
  const ignored = await cli(server, 'backlog', 'run', 'todo.md', '--dry-run');
  expect(ignored.stderr).toMatch(/config\.json is not valid and is ignored: backlog\.columns\.id/);
  expect(ignored.stderr).toContain('or name its columns in backlog.columns');
});

it('ends with 1 at a blocked item, and starts no second run of the same file beside it', async () => {
  const server = await aBacklog();
  const stopped = await cli(server, 'backlog', 'run', '--project', server.project.id);
  expect(stopped.exitCode).toBe(1);
  expect(stopped.stdout).toContain('A-10 is blocked');
  expect(stopped.stdout).toMatch(/Finish with what is done:\n *autonomous accept \S+/);
  const again = await cli(server, 'backlog', 'run', '--project', server.project.id);
  expect(again).toMatchObject({
    exitCode: 64,
    stderr: expect.stringMatching(/works on 'ai\/backlog\.md' and is not finished[^]*Follow it: autonomous watch/),
  });
});

it('ends with 2 when the attempts are used up, with 0 when the item is done, and with 1 when it was done before', async () => {
  const server = await aBacklog();
  const done = await cli(server, 'backlog', 'run', '--project', server.project.id, '--item', 'A-1');
  expect([done.exitCode, done.stdout]).toEqual([0, expect.stringContaining('2 of 3 items are done')]);
  const used = await cli(server, 'backlog', 'run', '--project', server.project.id, '--max-iterations', '1');
  expect(used.exitCode).toBe(2);
  // Both runs wrote their progress where git does not see it, also before the first commit of the run is pulled.
  const log = readFileSync(path.join(server.clone, 'ai/diary/autopilot-progress.log.md'), 'utf8');
  expect(log.split('\n').filter((line) => /Iteration|Status|===/.test(line))).toEqual([
    '## Iteration 1: A-1',
    'Status: done',
    '=== ALL SPECS COMPLETE ===',
    '## Iteration 1: A-10',
    expect.stringContaining('Status: '),
    expect.stringContaining('A-10'),
    '=== MAX ITERATIONS REACHED ===',
  ]);
  const status = (): string => execFileSync('git', ['-C', server.clone, 'status', '--porcelain'], { encoding: 'utf8' });
  expect(status()).toBe('');
  execFileSync('git', ['-C', server.clone, 'pull', '--quiet'], { stdio: 'pipe' });
  expect(status()).toBe('');
  expect(existsSync(path.join(server.clone, 'ai/diary/autopilot-progress.md'))).toBe(true);
  const [run] = (await server.client.listRuns({ workflow: 'backlog' })).items;
  await server.client.cancelRun(run?.id ?? '', 'Enough.');
  const before = await cli(server, 'backlog', 'run', '--project', server.project.id, '--item', 'A-2');
  expect(before).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('Item A-2 is done already') });
});
