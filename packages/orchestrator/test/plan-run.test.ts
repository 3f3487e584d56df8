/** The command `plan run` against a real server: a plan that is blocked, goes on with guidance, or is paused below. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCli } from '../src/cli/program.ts';
import type { ScriptCall } from '../src/models/script.ts';
import { aServer, type Files, finish, type Fixture, projectConfig, tool } from './orchestrator.fixture.ts';

const PLAN = `# Sums

## Phase 1: Sum
Add \`sum.txt\`.

## Phase 2: Product
Add \`product.txt\`.
`;
const FILES: Files = {
  'README.md': '# Sums\n',
  'check.sh': 'test "$(cat sum.txt 2>/dev/null)" != wrong\n',
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: 'sh check.sh' } } }),
};

const writing = (name: string, content: string): ScriptCall => ({
  turns: [
    { tools: [tool('write', { path: name, content })] },
    ...finish({ outcome: 'SUCCESS', summary: 'Wrote it.' }).turns,
  ],
});
const fixing = (name: string, content: string): ScriptCall => ({
  turns: [
    { tools: [tool('write', { path: name, content })] },
    ...finish({ outcome: 'FIXED', summary: 'Fixed it.' }).turns,
  ],
});
const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });
const ROLES = {
  'phase-implementer': [
    { when: { contains: 'Phase: 1 of ' }, ...writing('sum.txt', 'wrong') },
    { when: { contains: 'Phase: 2 of ' }, ...writing('product.txt', '6') },
  ],
  'phase-fixer': [{ when: { contains: 'Write three' }, ...fixing('sum.txt', '3') }],
  'phase-reviewer': [approves, approves],
};

async function planServer(files: Files = FILES): Promise<Fixture> {
  return aServer({ files, script: JSON.stringify({ name: 'test', roles: ROLES }) });
}

/** Runs `autonomous plan run sums.md` in a clone that has the plan. */
async function planRun(server: Fixture, ...options: readonly string[]) {
  const clone = path.join(server.folder, 'clone');
  execFileSync('git', ['clone', '--quiet', server.remote, clone], { stdio: 'pipe' });
  return run(server, clone, ...options);
}

async function run(server: Fixture, cwd: string, ...options: readonly string[]) {
  writeFileSync(path.join(cwd, 'sums.md'), PLAN);
  return command(server, cwd, 'plan', 'run', 'sums.md', '--project', server.project.id, ...options);
}

async function command(server: Fixture, cwd: string, ...words: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    });
  const { url } = server.orchestrator.server;
  const exitCode = await runCli([...words, '--server', url], {
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: { AUTONOMOUS_TOKEN: server.orchestrator.token },
    cwd,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}

describe('plan run', () => {
  it('stops where a phase is blocked, and goes on with guidance', async () => {
    const server = await planServer();
    const blocked = await planRun(server, '--max-retries', '0');
    expect(blocked).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('plan run sums.md --resume') });
    const clone = path.join(server.folder, 'clone');
    const again = await run(server, clone);
    expect(again).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('carries out sums.md already') });
    expect(again.stderr).toContain('(waiting for its child runs, 0 of 2)');

    // Who looks at the plan or follows it gets to the phase that waits, and to the commands that decide it.
    const [open] = (await server.client.listRuns({ workflow: 'phased-plan' })).items;
    const planId = open?.id ?? '';
    const [phase] = (await server.client.listRuns({ parentId: planId })).items;
    const shown = await command(server, clone, 'show', planId);
    expect(shown.stdout).toMatch(/^status +waiting for its child runs, 0 of 2 merged$/m);
    expect(shown.stdout).toMatch(
      new RegExp(`^child +${phase?.id} +phase blocked .*\n +waits for you: autonomous show ${phase?.id}$`, 'm'),
    );
    const retry = `  autonomous retry ${phase?.id}  # I fixed it: verify\n`;
    expect((await command(server, clone, 'show', phase?.id ?? '')).stdout).toContain(retry);
    const watched = await command(server, clone, 'watch', planId);
    expect(watched).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(retry) });
    const done = await run(server, clone, '--resume', '--guidance', 'Write three');
    expect(done.stderr).toBe('');
    expect(done.stdout).toContain('Sum');
    const [plan] = (await server.client.listRuns({ workflow: 'phased-plan' })).items;
    expect(plan?.progress).toEqual({ done: 2, total: 2 });
    expect(await server.mirror('show', `${plan?.branch}:sum.txt`)).toBe('3');
  });

  it('retries a phase that is paused with --resume, and tells that a plan without a waiting run has nothing to resume', async () => {
    const server = await planServer({
      ...FILES,
      '.autonomous/config.json': projectConfig({
        defaultRunConfig: { commands: { setup: 'exit 3', test: 'sh check.sh' } },
      }),
    });
    const clone = path.join(server.folder, 'clone');
    const none = await planRun(server, '--resume');
    expect(none).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('Leave --resume out') });
    expect(await run(server, clone)).toMatchObject({ exitCode: 1 });
    expect(await run(server, clone, '--resume')).toMatchObject({ exitCode: 1 });
    const [plan] = (await server.client.listRuns({ workflow: 'phased-plan' })).items;
    const children = (await server.client.listRuns({ parentId: plan?.id })).items;
    expect(children.length).toBeGreaterThan(0);
    for (const { id } of children) {
      const events = await server.client.listEvents(id, 0, 200);
      expect(events.filter(({ type }) => type === 'RETRY_REQUESTED')).toHaveLength(1);
    }
  });
});

describe('a plan without lint', () => {
  it('is asked for with --no-lint, for a dry run and in the configuration of the run', async () => {
    const server = await planServer({ ...FILES, Makefile: 'lint:\n\tfalse\n' });
    const shown = await planRun(server, '--no-lint', '--dry-run', '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ lint: null });
    const started = await run(server, path.join(server.folder, 'clone'), '--no-lint', '--detach', '--json');
    expect(JSON.parse(started.stdout)).toMatchObject({ config: { commands: { lint: null } } });
  });
});
