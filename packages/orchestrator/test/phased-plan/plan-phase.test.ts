/** The run of one phase, whole: real git, real checks, a script instead of models. */
import type { JsonObject, JsonValue, RunView, WorkflowEvent } from '@autonomous/shared';
import { expect, it } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { BUILT_IN_RUN_CONFIG } from '../../src/run-config/run-config.ts';
import { newRunId } from '../../src/server/run-ids.ts';
import { planPhase } from '../../src/workflows/phased-plan/plan-phase/index.ts';
import { phaseInputSchema } from '../../src/workflows/phased-plan/plan-phase/types.ts';
import { stateFiles } from '../../src/workflows/phased-plan/orchestrator-state.ts';
import { newestOf } from '../../src/workflows/workflow.ts';
import {
  aServer,
  type Files,
  finish,
  type Fixture,
  projectConfig,
  tool,
  when,
} from '../fixtures/orchestrator.fixture.ts';

const FILES: Files = {
  'README.md': '# Sums\n',
  'sum.sh': 'echo $(($1 + $2))\n',
  'test/sum.test.sh': 'test "$(sh sum.sh 1 2)" = 3\n',
  'lint.sh': '! grep -rn TODO sum.sh\n',
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: 'sh test/sum.test.sh' } } }),
};
const LINT = { command: 'sh lint.sh', source: 'test' };
const PHASE: JsonObject = {
  planPath: 'plans/sums.md',
  number: 2,
  total: 3,
  title: 'Products',
  text: 'Add `product.sh`.',
  criteria: ['`product.sh 2 3` prints 6'],
  lint: LINT,
};
const RED = { 'sum.sh': 'echo 0\n' };
const GREEN = { 'sum.sh': 'echo $(($1 + $2))\n', 'product.sh': 'echo $(($1 * $2))\n' };

const writing = (files: Readonly<Record<string, string>>, outcome: string, summary = 'Wrote it.'): ScriptCall => ({
  turns: [
    ...Object.entries(files).map(([path, content]) => ({ tools: [tool('write', { path, content })] })),
    ...finish({ outcome, summary }).turns,
  ],
});
const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });
const blocks = finish({
  outcome: 'BLOCKERS',
  summary: 'Not fine.',
  blockers: [{ kind: 'logic', where: 'product.sh:1', problem: 'It adds.' }],
});

async function phaseServer(roles: Readonly<Record<string, ScriptCall[]>>, files: Files = FILES): Promise<Fixture> {
  return aServer({ files, script: JSON.stringify({ name: 'test', roles }) });
}

/** Starts a phase at the engine, since people can only start its plan. */
async function launched(
  server: Fixture,
  change: { readonly [Name in string]?: JsonValue | undefined } = {},
): Promise<RunView> {
  const id = newRunId();
  const { name, version, fingerprint } = newestOf(planPhase);
  return server.orchestrator.engine.launch(id, {
    projectId: server.project.id,
    userId: 'local',
    workflow: { name, version, fingerprint },
    request: 'Phase 2: Products',
    config: BUILT_IN_RUN_CONFIG,
    requestedConfig: {},
    branch: `autonomous/${id}-phase-2`,
    // What was parsed from JSON consists of JSON values.
    input: phaseInputSchema.parse({ ...PHASE, ...change }),
  });
}

const stateOf = (events: readonly WorkflowEvent[]): unknown =>
  JSON.parse(stateFiles(events)['orchestrator-state.json'] ?? 'null');

const attemptsOf = async (server: Fixture, run: RunView) =>
  (await server.events(run.id))
    .filter(({ type }) => type === 'PHASE_CHANGED')
    .map(({ payload }) => {
      const { status, retryCount } = payload;
      return `${String(status)} ${String(retryCount)}`;
    });

it('implements, verifies, reviews exactly its change, and makes one commit', async () => {
  const server = await phaseServer({
    'phase-implementer': [writing(GREEN, 'SUCCESS', 'Products are there.')],
    'phase-reviewer': [when('+echo $(($1 * $2))', approves)],
  });
  const run = await server.until(await launched(server), { status: 'completed' });
  const log = await server.mirror('log', '--format=%s', `${run.baseCommit ?? ''}..${run.branch}`);
  expect(log.trim()).toBe('Phase 2: Products');
  expect(await server.mirror('show', `${run.branch}:product.sh`)).toBe(GREEN['product.sh']);
  const [evidence] = await server.payloads(run.id, 'EVIDENCE_RECORDED');
  expect(evidence?.commands.map(({ command, exitCode }) => [command, exitCode])).toEqual([
    ['sh test/sum.test.sh', 0],
    ['sh lint.sh', 0],
  ]);
  expect(await attemptsOf(server, run)).toEqual([
    'implementing 0',
    'verifying 0',
    'reviewing 0',
    'committing 0',
    'completed 0',
  ]);
  // No branch of a phase that went well reaches the remote.
  expect(await server.git('branch', '--list', 'autonomous/*')).not.toContain(run.branch);
});

it('asks a person at the fourth red, whatever was red, and takes guidance into the next attempt alone', async () => {
  const server = await phaseServer({
    'phase-implementer': [writing(RED, 'SUCCESS')],
    'phase-fixer': [
      writing(RED, 'FIXED', 'First fix.'),
      writing({ ...GREEN, 'sum.sh': '# TODO\necho $(($1 + $2))\n' }, 'FIXED', 'Second fix.'),
      writing(GREEN, 'FIXED', 'Third fix.'),
      when('Multiply with care', writing({ 'product.sh': 'echo $((1 * $1 * $2))\n' }, 'FIXED', 'With care.')),
      // By its number among those without `when`; it would not be played if the guidance were told again.
      writing({}, 'UNABLE'),
      writing(GREEN, 'FIXED', 'Without guidance.'),
    ],
    'phase-reviewer': [blocks, blocks, approves],
  });
  const run = await server.until(await launched(server), { gate: 'phase_blocked' });
  expect(run.status).toBe('paused');
  expect(run.gate?.decisions).toEqual(['retry', 'reject']);
  const [paused] = await server.payloads(run.id, 'RUN_PAUSED');
  expect(paused?.message).toBe(`⛔ Phase 2 blocked after 3 attempts.

Last error:
Blockers of the review:
1. [logic] product.sh:1: It adds.

Attempted fixes:

1. First fix. → $ sh test/sum.test.sh exit code 1
2. Second fix. → $ sh lint.sh exit code 1 1:# TODO
3. Third fix. → Blockers of the review: 1. [logic] product.sh:1: It adds.

Please review and either:

- Fix manually on the branch ${run.branch} and give the command: plan run plans/sums.md --resume
- Provide guidance for next attempt with the command: plan run plans/sums.md --resume --guidance "…"`);
  const state = stateOf(await server.events(run.id));
  expect(state).toEqual({
    plan_path: 'plans/sums.md',
    total_phases: 3,
    current_phase: 2,
    phase_status: 'blocked',
    retry_count: 4,
    max_retries: 3,
    completed_phases: [],
    commits: [],
    last_error: 'Blockers of the review:\n1. [logic] product.sh:1: It adds.',
  });

  await server.decide(run, { decision: 'reject', feedback: 'Multiply with care.' });
  const done = await server.until(run, { status: 'completed' });
  expect((await server.mirror('log', '--format=%s', `${done.baseCommit ?? ''}..${run.branch}`)).trim()).toBe(
    'Phase 2: Products',
  );
  expect(await server.mirror('show', `${run.branch}:product.sh`)).toBe(GREEN['product.sh']);
  expect((await attemptsOf(server, run)).slice(-9)).toEqual([
    'blocked 4',
    'fixing 0',
    'verifying 0',
    'reviewing 0',
    'fixing 1',
    'verifying 1',
    'reviewing 1',
    'committing 1',
    'completed 1',
  ]);
  expect(stateOf(await server.events(run.id))).toMatchObject({
    current_phase: null,
    phase_status: 'completed',
    retry_count: 0,
    completed_phases: [2],
    commits: [{ phase: 2, message: 'Phase 2: Products', hash: done.headCommit }],
    last_error: null,
  });
});

it('verifies first what a person fixed by hand on top of the branch of the phase, and takes no review without a usable result for an approval', async () => {
  const invalid = tool('finish', { outcome: 'APPROVED', summary: 'Fine, but', blockers: [{ kind: 'style' }] });
  const garbage: ScriptCall = {
    turns: [...[1, 2, 3].map(() => ({ tools: [invalid] })), { tools: [tool('ask', { question: 'OK?' })] }],
  };
  const server = await phaseServer({
    'phase-implementer': [writing(RED, 'SUCCESS')],
    'phase-reviewer': [garbage, approves],
  });
  const run = await server.until(await launched(server, { maxRetries: 0 }), { gate: 'phase_blocked' });
  const commit = String(run.gate?.details['commit']);
  await server.git('update-ref', `refs/heads/${run.branch}`, 'main');
  const rewritten = await server.commit({ ...GREEN, 'lost.txt': 'Not on top of it.\n' }, run.branch);
  await server.decide(run, { decision: 'retry' });
  const paused = await server.until(run, { gate: 'pause' });
  expect(paused.gate?.reason).toBe('push_rejected');
  expect(paused.gate?.summary).toContain(`is at ${rewritten} on the remote, which does not contain ${commit}`);
  const pushed = await server.mirror('rev-parse', run.branch);
  await server.mirror('push', '--force', server.remote, `${pushed.trim()}:refs/heads/${run.branch}`);
  await server.commit({ ...GREEN, '.autonomous/runs/forged/x.json': '{}' }, run.branch);
  await server.decide(run, { decision: 'retry' });
  const unread = await server.until(run, { gate: 'phase_blocked' });
  expect(unread.gate?.summary).toMatch(/^Phase 2 blocked after \d attempts?: The review gave no usable result/);
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect((await attemptsOf(server, run)).slice(-8)).toEqual([
    'blocked 1',
    'verifying 0',
    'reviewing 0',
    'blocked 1',
    'verifying 0',
    'reviewing 0',
    'committing 0',
    'completed 0',
  ]);
  expect(await server.mirror('show', `${run.branch}:product.sh`)).toBe(GREEN['product.sh']);
  expect(await server.mirror('ls-tree', '-r', '--name-only', run.branch)).not.toContain('forged');
});

it('asks once for commands that the project does not name, and offers no fix by hand where the branch of the phase cannot be pushed', async () => {
  const { '.autonomous/config.json': _config, ...files } = FILES;
  const server = await phaseServer(
    {
      'phase-implementer': [writing(RED, 'SUCCESS')],
      'phase-fixer': [writing(GREEN, 'FIXED')],
      'phase-reviewer': [approves],
    },
    files,
  );
  // Where a branch of this name is, no branch can lie below it.
  await server.git('update-ref', 'refs/heads/autonomous', 'main');
  const run = await server.until(await launched(server, { lint: undefined, maxRetries: 0 }), { gate: 'clarification' });
  await server.decide(run, { decision: 'answer', response: 'sh test/sum.test.sh\nsh lint.sh' });
  await server.until(run, { gate: 'phase_blocked' });
  const paused = (await server.events(run.id)).findLast(({ type }) => type === 'RUN_PAUSED');
  const message = String((paused?.payload as { readonly message?: unknown } | undefined)?.message);
  expect(message).toContain('could not be pushed, so that it cannot be fixed by hand there');
  expect(message).toContain('--resume --guidance');
  expect(message).not.toContain('Fix manually');
  const notices = await server.payloads(run.id, 'NOTICE');
  expect(notices.map((notice) => notice.message).join()).toContain('could not be pushed');
  await server.decide(run, { decision: 'reject', feedback: 'Add them.' });
  await server.until(run, { status: 'completed' });
  const evidence = (await server.payloads(run.id, 'EVIDENCE_RECORDED')).at(-1);
  expect(evidence?.commands.map(({ command }) => command)).toEqual(['sh test/sum.test.sh', 'sh lint.sh']);
});

it('takes FAILURE and UNABLE for failed attempts', async () => {
  const server = await phaseServer({
    'phase-implementer': [writing({}, 'FAILURE', 'No idea.'), when('No idea.', writing(RED, 'SUCCESS', 'Now.'))],
    'phase-fixer': [writing({}, 'UNABLE', 'Cannot.'), when('Cannot.', writing(GREEN, 'FIXED', 'Could.'))],
    'phase-reviewer': [approves],
  });
  const done = await server.until(await launched(server), { status: 'completed' });
  expect(await attemptsOf(server, done)).toContain('committing 3');
});
