/** The command `plan run` against a real server: a plan that is blocked, goes on with guidance, or is paused below. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { JsonObject, RunView } from '@autonomous/shared';
import { describe, expect, it, onTestFinished } from 'vitest';
import { extendMemory } from '../../src/documents/memory/memory.ts';
import { runCli } from '../../src/cli/program.ts';
import type { ScriptCall } from '../../src/models/script.ts';
import { COMMANDS_QUESTION } from '../../src/workflows/phased-plan/commands-question.ts';
import { aServer, type Files, finish, type Fixture, projectConfig, tool } from '../fixtures/orchestrator.fixture.ts';

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

async function planServer(files: Files = FILES, roles: Readonly<Record<string, ScriptCall[]>> = {}): Promise<Fixture> {
  return aServer({ files, script: JSON.stringify({ name: 'test', roles: { ...ROLES, ...roles } }) });
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

async function command({ orchestrator }: Fixture, cwd: string, ...words: readonly string[]) {
  return cli(cwd, { AUTONOMOUS_TOKEN: orchestrator.token }, ...words, '--server', orchestrator.server.url);
}

async function cli(cwd: string, env: Readonly<Record<string, string>>, ...words: readonly string[]) {
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
    env,
    cwd,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}

/** A clone of the project's remote. */
function cloned(server: Fixture): string {
  const clone = path.join(server.folder, 'clone');
  execFileSync('git', ['clone', '--quiet', server.remote, clone], { stdio: 'pipe' });
  return clone;
}

async function theOnlyPlan(server: Fixture): Promise<RunView> {
  const { items } = await server.client.listRuns({ workflow: 'phased-plan' });
  expect(items).toHaveLength(1);
  return items[0] as RunView; // the line above says so
}

async function firstChildOf(server: Fixture, plan: RunView): Promise<RunView> {
  const children = (await server.client.listRuns({ parentId: plan.id })).items;
  return children.toSorted((a, b) => a.originalRequest.localeCompare(b.originalRequest))[0] as RunView; // it has phases
}

const inputOf = async (server: Fixture, { id }: RunView) =>
  (await server.client.listEvents(id, 0, 1))[0]?.payload as { readonly input: JsonObject }; // a run that was not queued

describe('plan run', () => {
  it('finds the run of a plan by its path, whatever its request says', async () => {
    const server = await planServer();
    const clone = cloned(server);
    const launched = await server.client.launchRun({
      projectId: server.project.id,
      workflow: 'phased-plan',
      request: 'Please do what is written there',
      input: { planPath: './sums.md', plan: PLAN, maxRetries: 0 },
    });
    await server.until(launched, { status: 'awaiting_children' });
    const watched = await command(server, clone, 'watch', launched.id);
    expect(watched.stdout).toContain('--resume');
    expect(await run(server, clone)).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining(`Run ${launched.id} carries out sums.md already`),
    });
    const ineffective = await run(server, clone, '--resume', '--max-iterations', '3', '--test', 'true');
    expect(ineffective).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining(
        '--max-iterations, --test have no effect with --resume: the run keeps what it was started with. Leave them out.',
      ),
    });
    const resumed = await run(server, clone, '--resume', '--guidance', 'Write three', '--detach', '--json');
    expect(resumed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(resumed.stdout)).toMatchObject({ id: launched.id, workflow: { name: 'phased-plan' } });
    await run(server, clone, '--resume');
    expect((await theOnlyPlan(server)).progress).toEqual({ done: 2, total: 2 });
  });

  it('ends with 2 where the iterations are used up within a phase, and verifies with the commands that it is given', async () => {
    const server = await planServer();
    const clone = cloned(server);
    const commands = ['--test', 'grep -qx 3 sum.txt', '--lint', 'sh -n check.sh'];
    const { exitCode, stderr } = await run(server, clone, '--max-iterations', '1', '--squash', ...commands);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--squash has an effect only where the result is merged.');
    const plan = await theOnlyPlan(server);
    expect((await inputOf(server, plan)).input).toMatchObject({ maxIterations: 1, commits: 'squash' });
    const phase = await firstChildOf(server, plan);
    expect((await inputOf(server, phase)).input).toMatchObject({
      test: { command: 'grep -qx 3 sum.txt', source: 'the request' },
      lint: { command: 'sh -n check.sh', source: 'the request' },
    });
    const [evidence] = await server.payloads(phase.id, 'EVIDENCE_RECORDED');
    expect(evidence?.commands.map(({ command: each, exitCode: code }) => [each, code])).toEqual([
      ['grep -qx 3 sum.txt', 1],
    ]);
  });

  it('ends with 2 where the iterations are used up between two phases', async () => {
    const server = await planServer(FILES, {
      'phase-implementer': [{ when: { contains: 'Phase: 1 of ' }, ...writing('sum.txt', '3') }],
    });
    expect(await planRun(server, '--max-iterations', '1', '--lint', 'sh -n check.sh')).toMatchObject({ exitCode: 2 });
    const phase = await firstChildOf(server, await theOnlyPlan(server));
    const [evidence] = await server.payloads(phase.id, 'EVIDENCE_RECORDED');
    expect(evidence?.commands.map(({ command: each }) => each)).toEqual(['sh check.sh', 'sh -n check.sh']);
  });

  it('ends with 1 where a phase is blocked for another reason, whatever the words of its last error', async () => {
    const check = 'echo "the limit of 1 iterations is reached"; test "$(cat sum.txt)" != wrong\n';
    const server = await planServer({ ...FILES, 'check.sh': check });
    const blocked = await planRun(server, '--max-retries', '0');
    expect(blocked.stdout).toContain('iterations is reached');
    expect(blocked.exitCode).toBe(1);
  });

  it('has a plan that is too long for a request read from the base branch, and refuses one of 5 MB', async () => {
    const phase = (number: number) => `## Phase ${number}: 第\n${'说明文字。'.repeat(9_000)}\n`;
    const long = Array.from({ length: 9 }, (_, index) => phase(index + 1)).join('\n');
    expect(long.length).toBeGreaterThan(400_000);
    const huge = `## Phase 1\n${'x'.repeat(5_000_000)}\n`;
    const server = await planServer({ ...FILES, 'long.md': long, 'huge.md': huge });
    const clone = cloned(server);
    const plan = (...words: readonly string[]) =>
      command(server, clone, 'plan', 'run', ...words, '--project', server.project.id);
    expect(await plan('huge.md')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringMatching(
        /huge\.md cannot be carried out:\n {2}The plan has 50000\d\d characters; at most 500000/,
      ),
    });
    expect((await server.client.listRuns()).items).toEqual([]);

    const started = await plan('long.md', '--detach', '--json');
    expect(started).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('long.md is too long to be sent') });
    const launched = JSON.parse(started.stdout) as RunView;
    expect((await inputOf(server, launched)).input).toEqual({
      planPath: 'long.md',
      maxRetries: 3,
      maxIterations: 50,
      commits: 'phase',
    });
    await server.until(launched, { status: 'awaiting_children' });

    const outside = path.join(server.folder, 'outside.md');
    writeFileSync(outside, long);
    expect(await plan(outside)).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('Commit the plan') });

    const input = { planPath: 'huge.md' };
    const ofPath = await server.client.launchRun({
      projectId: server.project.id,
      workflow: 'phased-plan',
      request: 'Carry out huge.md',
      input,
    });
    await server.until(ofPath, { status: 'failed' });
    const [failed] = await server.payloads(ofPath.id, 'RUN_FAILED');
    expect(JSON.stringify(failed)).toContain('at most 500000 are taken');
  });

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
    expect(shown.stdout).toMatch(/^status +waiting for its child runs, 0 of 2 phases merged$/m);
    expect(shown.stdout).toMatch(
      new RegExp(`^child +${phase?.id} +phase blocked .*\n +waits for you: autonomous show ${phase?.id}$`, 'm'),
    );
    const retry = `  autonomous retry ${phase?.id}\n`;
    expect(blocked.stdout.split('\n').slice(-7)).toEqual([
      expect.stringContaining('Phase 1 blocked after 0 attempts: '),
      `  autonomous show ${phase?.id} --diff`,
      'I fixed it: verify:',
      retry.trimEnd(),
      'Give guidance:',
      `  autonomous reject ${phase?.id} --feedback "…"`,
      '',
    ]);
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
    // The step fails on what a phase writes, not on the base commit, where the plan itself would be paused.
    const commands = { setup: 'test ! -e broken', test: 'sh check.sh' };
    const server = await planServer(
      { ...FILES, '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands } }) },
      { 'phase-implementer': [writing('broken', '1'), writing('broken', '2')] },
    );
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

describe('plan run --dry-run', () => {
  const dryRun = async (files: Readonly<Record<string, string>>, ...options: readonly string[]) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'dry-run-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    execFileSync('git', ['init', '--quiet', folder], { stdio: 'pipe' });
    mkdirSync(path.join(folder, '.autonomous'));
    for (const [name, text] of Object.entries({ 'sums.md': PLAN, ...files }))
      writeFileSync(path.join(folder, name), text);
    execFileSync('git', ['-C', folder, 'add', '--all'], { stdio: 'pipe' });
    return cli(folder, {}, 'plan', 'run', 'sums.md', '--dry-run', ...options);
  };
  const manifest = JSON.stringify({ scripts: { test: 'node --test', lint: 'eslint .' } });
  const configured = (commands: object) => projectConfig({ defaultRunConfig: { commands } });
  const memory = extendMemory(null, {
    project: 'sums',
    date: '2026-01-01',
    title: 'Sums',
    runId: 'r',
    decisions: [
      { topic: COMMANDS_QUESTION.question, choice: '`sh told.sh ⏎ sh lint.sh`', rationale: 'answered by a person' },
    ],
    techStack: [],
    patterns: [],
  }).text;

  it('shows the phases, their order and the commands without a server', async () => {
    const { exitCode, stdout, stderr } = await dryRun({ 'package.json': manifest });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'sums.md: Sums',
      '  Phase 1: Sum (depends on none; 0 success criteria)',
      '  Phase 2: Product (after 1; 0 success criteria)',
      'Order: 1, then 2',
      'Test: npm test',
      'Lint: npm run lint',
      'Nothing was started.',
      '',
    ]);
  });

  it.each([
    [
      "the project's configuration",
      { '.autonomous/config.json': configured({ test: 'sh own.sh' }) },
      [],
      'sh own.sh',
      'npm run lint',
    ],
    [
      '--config before it',
      {
        '.autonomous/config.json': configured({ test: 'sh own.sh' }),
        'run.json': '{"commands": {"test": "sh file.sh"}}',
      },
      ['--config', 'run.json'],
      'sh file.sh',
      'npm run lint',
    ],
    [
      '--config without tests',
      { 'run.json': '{"commands": {"test": null}}' },
      ['--config', 'run.json'],
      '',
      'npm run lint',
    ],
    [
      'the options before both',
      { '.autonomous/config.json': configured({ test: 'sh own.sh' }) },
      ['--test', 'true', '--lint', 'false'],
      'true',
      'false',
    ],
    [
      'the configuration with its lint',
      {
        '.autonomous/config.json': configured({ test: 'sh own.sh', lint: 'sh lint.sh' }),
        'run.json': '{"commands": {"test": null}}',
      },
      ['--config', 'run.json'],
      '',
      'sh lint.sh',
    ],
    ['the configuration without lint', { '.autonomous/config.json': configured({ lint: null }) }, [], 'npm test', null],
    ["the project's memory", { 'package.json': '{}', '.autonomous/memory.md': memory }, [], 'sh told.sh', 'sh lint.sh'],
    ['no file', { 'package.json': '{}' }, [], null, null],
  ] as const)('has the commands of %s', async (_, files, options, test, lint) => {
    const { exitCode, stdout } = await dryRun({ 'package.json': manifest, ...files }, ...options, '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ planPath: 'sums.md', waves: [[1], [2]], test, lint });
  });

  it('names what is wrong with a plan and with the command line', async () => {
    expect(await dryRun({ 'sums.md': '# Phase 1\nDepends on: Phase 1\n# Phase 1\n' })).toMatchObject({
      exitCode: 64,
      stderr: expect.stringMatching(/sums\.md cannot be carried out:\n {2}The plan has 2 phases with the number 1/),
    });
    expect(await dryRun({}, '--resume')).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('--dry-run') });
  });
});
