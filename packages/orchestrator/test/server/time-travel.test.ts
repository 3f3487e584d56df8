/** Time travel over HTTP: views and statecharts of the past, and runs that go on from there. */
import { type RunView, type ShownGate, shownAt, type WorkflowEvent } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';
import { describe, expect, it } from 'vitest';
import { buildDefinition as build } from '../../src/workflows/build/build.fixture.ts';
import {
  aPlan,
  aScript,
  aServer,
  asks,
  type Fixture,
  passes,
  projectConfig,
  FILES,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

const refusal = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => {
      throw new Error('it was taken');
    },
    (error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    },
  );

/** The open gate as a person saw it after an event; empty if none was open. */
async function shownThen({ client }: Fixture, runId: string, at: number): Promise<Partial<ShownGate>> {
  const { gate } = await client.getRun(runId, at);
  return gate === null ? {} : shownAt(gate);
}

/** A run that was planned, approved and finished, with the events of its way. */
async function aFinishedRun(
  server: Fixture,
): Promise<{ run: RunView; events: readonly WorkflowEvent[]; at: (type: string) => number }> {
  const launched = await server.launch('Add the feature', { trustMode: { planning: 'manual' } });
  await server.until(launched, { gate: 'plan' });
  await server.decide(launched, { decision: 'approve' });
  await server.until(launched, { status: 'completed' });
  // The step that completed it has events after the one that said so.
  const run = await server.client.getRun(launched.id);
  const events = await server.events(run.id);
  const at = (type: string) => events.find((event) => event.type === type)?.sequence ?? 0;
  return { run, events, at };
}

const SCRIPT = aScript({
  planner: [aPlan(), aPlan(), aPlan()],
  implementer: [writes({ 'feature.sh': 'echo feature\n' }), writes({ 'feature.sh': 'echo again\n' })],
  validator: [passes(), passes(), passes(), passes()],
});

describe('a run as it was', () => {
  it('is its view after the event, with the statechart of that time', async () => {
    const server = await aServer({ script: SCRIPT });
    const { run, events, at } = await aFinishedRun(server);
    const gate = at('APPROVAL_REQUESTED');
    const then = await server.client.getRun(run.id, gate);
    expect(then).toMatchObject({
      id: run.id,
      status: 'awaiting_approval',
      gate: { id: `${run.id}.${gate}`, kind: 'plan' },
      lastSequence: gate,
      artifacts: [{ type: 'mermaid_diagram' }],
    });
    expect(then.artifacts[0]?.approvedAt).toBeUndefined();
    // A run as it was does not say where it is recorded now.
    const { recordPlace: _place, ...last } = run;
    expect(await server.client.getRun(run.id, run.lastSequence)).toEqual(last);
    expect((await server.client.getRun(run.id, 1)).state).toBeNull();

    const chart = await server.client.getStatechart(run.id, gate);
    expect(chart).toMatchObject({
      workflow: 'build',
      sequence: gate,
      current: { active: 'awaitingPlanApproval' },
      possible: { signals: expect.arrayContaining([{ type: 'APPROVAL_GRANTED', decisions: ['approve'] }]), timers: [] },
    });
    expect(chart.mermaid).toMatch(/class s_build_active_awaitingPlanApproval current/);
    const [first] = chart.path;
    expect(first).toMatchObject({ sequence: 3, event: 'RUN_STARTED', from: null });
    expect(chart.path.at(-1)).toMatchObject({ event: 'done commitPlan', to: { active: 'awaitingPlanApproval' } });

    const now = await server.client.getStatechart(run.id);
    expect(now).toMatchObject({
      sequence: run.lastSequence,
      current: 'completed',
      possible: { signals: [], activities: [] },
    });
    expect(now.changes).toBe(events.filter(({ type }) => type === 'STATE_CHANGED').length);

    for (const call of [server.client.getRun, server.client.getStatechart]) {
      const { status, message } = await refusal(call(run.id, run.lastSequence + 1));
      expect([status, message]).toEqual([
        404,
        `Run ${run.id} has no event ${run.lastSequence + 1}; its events are 1 to ${run.lastSequence}.`,
      ]);
    }
    expect((await refusal(server.client.getRun('nobody', 1))).status).toBe(404);
  });

  it('of a workflow without a run is its statechart, its signals with their schemas and its activities', async () => {
    const { client } = await aServer();
    const found = await client.getWorkflow('build');
    expect(found).toMatchObject({ name: 'build', versions: [3], needsProject: true, input: null });
    expect(found.signals.find(({ type }) => type === 'STAGE_EXTENDED')?.payload).toMatchObject({
      type: 'object',
      required: ['by', 'minutes'],
      properties: { minutes: { type: 'number' } },
    });
    expect(found.activities).toContainEqual({ id: 'planner', source: 'plan' });
    expect(found.mermaid).toContain('stateDiagram-v2');
    expect(found.mermaid).not.toContain(' current');
    expect((await refusal(client.getWorkflow('nothing'))).status).toBe(404);
  });
});

describe('a fork', () => {
  it('of a finished run goes its own way to its own branch, with another model and policy', async () => {
    const server = await aServer({ script: SCRIPT });
    const { run, at } = await aFinishedRun(server);
    const gate = at('APPROVAL_REQUESTED');
    const forked = await server.client.forkRun(run.id, {
      at: gate,
      config: { trustMode: { implementation: 'manual' }, timeoutMinutes: { implementation: 7 } },
      answer: { decision: 'approve', notes: 'again', ...(await shownThen(server, run.id, gate)) },
    });
    expect(forked).toMatchObject({
      status: 'running',
      forkedFrom: { runId: run.id, at: gate },
      config: { trustMode: { implementation: 'manual', planning: 'manual' }, timeoutMinutes: { implementation: 7 } },
      gates: [{ gateId: `${forked.id}.${gate}`, decision: 'approve', notes: 'again' }],
    });
    expect(forked.branch).not.toBe(run.branch);
    const shown = await server.until(forked, { gate: 'implementation' });
    await server.decide(shown, { decision: 'approve' });
    const done = await server.until(forked, { status: 'completed' });
    const [plan, base] = [run.artifacts[0]?.commitSha ?? '', run.baseCommit ?? ''];
    const log = (await server.git('log', '--format=%H', `${base}..${done.branch}`)).trim().split('\n');
    expect(log).toContain(plan);
    expect(await server.git('rev-parse', run.branch)).toContain(run.headCommit);
    expect(await server.file(done.branch, `.autonomous/runs/${done.id}/context.json`)).toContain(done.id);
  });

  it('at work does it anew from the commit of that time, with what the person says differently', async () => {
    const server = await aServer({ script: SCRIPT });
    const { run, at } = await aFinishedRun(server);
    const started = at('IMPLEMENTATION_SUCCEEDED') - 3;
    const before = await server.client.getRun(run.id, started);
    expect(before.currentStage).toBe('implementation');
    const forked = await server.client.forkRun(run.id, { at: started, config: { maxFixAttempts: 1 } });
    expect((await server.mirror('rev-parse', forked.branch)).trim()).toMatch(/^[0-9a-f]{40}$/);
    const done = await server.until(forked, { status: 'completed' });
    expect(done.config.maxFixAttempts).toBe(1);
    expect(await server.file(done.branch, 'feature.sh')).toMatch(/^echo/);
  });

  it('is one run however often the same request is sent, and another under another key', async () => {
    const server = await aServer({ script: SCRIPT });
    const launched = await server.launch('Add the feature', { trustMode: { planning: 'manual' } });
    const { lastSequence: at } = await server.until(launched, { gate: 'plan' });
    const [first, again, other] = await Promise.all(
      ['k', 'k', 'l'].map((key) => server.client.forkRun(launched.id, { at }, key)),
    );
    expect(first?.id).toBe(again?.id);
    expect(other?.id).not.toBe(first?.id);
    expect((await server.client.listRuns()).items).toHaveLength(3);
    const fork = await server.client.forkRun(first?.id ?? '', { at: at + 1, request: 'Add another feature' });
    expect(fork).toMatchObject({ originalRequest: 'Add another feature', forkedFrom: { runId: first?.id } });
  });

  it('of a variant of an exploration is none of its variants', async () => {
    const server = await aServer({ script: SCRIPT });
    const { runs, id } = await server.client.explore({
      projectId: server.project.id,
      variants: [{ request: 'One', config: { trustMode: { planning: 'manual' } } }],
    });
    const { lastSequence: at, id: runId } = await server.until(runs[0]?.id ?? '', { gate: 'plan' });
    const fork = await server.client.forkRun(runId, { at });
    expect(fork.explorationId).toBeUndefined();
    expect((await server.client.listRuns({ explorationId: id })).items.map((item) => item.id)).toEqual([runId]);
  });

  it('waits for a place like a run that is started, and then goes on', async () => {
    const server = await aServer({
      env: { MAX_CONCURRENT_RUNS_PER_USER: '1' },
      script: aScript({
        planner: [aPlan(), aPlan()],
        implementer: [asks({ question: 'Which?', responseType: 'text' }), writes({ 'a.sh': '' })],
      }),
    });
    const launched = await server.launch('Add the feature', { trustMode: { planning: 'manual' } });
    const { lastSequence: at } = await server.until(launched, { gate: 'plan' });
    const answer = { decision: 'approve', ...(await shownThen(server, launched.id, at)) } as const;
    const [first, second] = [
      await server.client.forkRun(launched.id, { at, answer }),
      await server.client.forkRun(launched.id, { at, answer }),
    ];
    expect(first.status).toBe('running');
    expect(second).toMatchObject({ status: 'queued', queuePosition: 1 });
    await server.until(first, { gate: 'clarification' });
    await server.until(second, { gate: 'clarification' });
  });

  it('is refused with nothing made where it cannot be', async () => {
    const server = await aServer({
      script: SCRIPT,
      env: { ALLOW_AUTO_MERGE: 'false' },
      files: {
        ...FILES,
        '.autonomous/config.json': projectConfig({
          defaultRunConfig: { commands: { test: 'sh test/app.test.sh' } },
          git: { requireApprovalFor: ['planning'] },
        }),
      },
    });
    const launched = await server.launch('Add the feature', { trustMode: { planning: 'manual' } });
    const { lastSequence: at } = await server.until(launched, { gate: 'plan' });
    const branches = await server.mirror('for-each-ref', '--format=%(refname)', 'refs/heads');
    const refused = async (fork: Parameters<typeof server.client.forkRun>[1]) => {
      const { status, message } = await refusal(server.client.forkRun(launched.id, fork));
      return `${status} ${message}`;
    };
    expect(await refused({ at: at + 1 })).toMatch(
      `400 The request's body cannot be taken: at: must be an event of run ${launched.id}, whose events are 1 to ${at}.`,
    );
    expect(await refused({ at, config: { git: { autoMerge: true } } })).toMatch(
      /^400 config\.git\.autoMerge: This server/,
    );
    expect(await refused({ at, config: { git: { baseBranch: 'other' } } })).toMatch(
      /^400 config\.git\.baseBranch: The run began from main/,
    );
    expect(await refused({ at, config: { modelRouting: { planner: 'nobody:x' } } })).toMatch(
      /^400 config\.modelRouting\.planner/,
    );
    expect(await refused({ at, answer: { decision: 'retry' } })).toMatch(
      /^409 Gate .*\('plan'\) does not take 'retry'; it takes approve, reject, ask\./,
    );
    expect(await refused({ at, answer: { decision: 'approve', artifactHash: 'a'.repeat(64) } })).toMatch(
      /^409 The artifactHash/,
    );
    expect(await refused({ at, answer: { decision: 'approve' } })).toMatch(
      /^400 The decision of gate .* does not name what was shown: gateId, artifactHash, codeTree and concernsHash are missing\./,
    );
    const shown = await shownThen(server, launched.id, at);
    expect(await refused({ at, answer: { decision: 'approve', ...shown, gateId: `${launched.id}.1` } })).toMatch(
      /^409 Run .* had gate .* open after event \d+, and the answer is of gate /,
    );
    expect(await refused({ at: at - 4, answer: { decision: 'approve' } })).toMatch(
      /^409 Run .* had no open gate after event \d+ that could take 'approve'/,
    );
    expect((await server.client.listRuns()).items).toHaveLength(1);
    expect(await server.mirror('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe(branches);

    const loosened = await server.client.forkRun(launched.id, { at, config: { trustMode: { planning: 'auto' } } });
    expect(loosened.config.trustMode['planning']).toBe('manual');
    expect(loosened.notices.join()).toContain('The project requires an approval for planning');
  });
});

it('names the workspace of a state by the machine itself', () => {
  expect(build.workspace?.({ head: 'abc' } as never)).toBe('abc');
  expect(build.workspace?.({ head: '' } as never)).toBeNull();
});
