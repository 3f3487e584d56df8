import { foldRun, type JsonObject, type RunView, type WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { newRun } from './advance.ts';
import { aConfig, buildDefinition as build, BuildRun, outputs } from '../workflows/build/build.fixture.ts';
import { type Fork, type ForkedRun, forkRun, type ForkRequest } from './fork.ts';
import { replay } from './replay.ts';

const NOW = '2026-03-02T10:00:00.000Z';
const request: ForkRequest = { runId: 'q', at: 1, tree: 'r', by: 'ada', branch: 'autonomous/q-login-flow', now: NOW };
const only = (version: number) => (version === build.version ? build : undefined);

/** The whole way with a gate, a question, a failed check and its fix. */
function anEventfulRun(): BuildRun {
  const run = BuildRun.start({ git: { ...aConfig.git, autoMerge: true } })
    .toImplementation()
    .done('implementer', outputs.implementerAsks)
    .done('saveWork', { ...outputs.commitCode, commit: 'c-checkpoint' });
  run.send('CLARIFICATION_ANSWERED', { by: 'me', response: 'Supabase', gateId: run.view?.gate?.id ?? '' });
  run.implemented().done('checkAsIs', outputs.check('as_is', false)).done('report', outputs.report);
  run.implemented().toValidated();
  return run
    .done('integrate', { moved: false })
    .done('copyRecord', outputs.copyRecord)
    .done('pushBranch', { commit: 'c-record', pushed: true })
    .done('merge', outputs.merge);
}

function forkAt(run: BuildRun, at: number, change: Partial<ForkRequest> = {}): Fork {
  return forkRun(run.events, only, { ...request, at, ...change });
}

function taken(fork: Fork): ForkedRun {
  if (!fork.ok) throw new Error(fork.message);
  return fork.run;
}

function stored(run: ForkedRun): WorkflowEvent[] {
  return run.events.map((event, index) => ({
    ...event,
    id: `q${index + 1}`,
    position: index + 1,
    workflowRunId: 'q',
    sequence: index + 1,
  }));
}

function viewOf(run: ForkedRun): RunView {
  let view: RunView | null = null;
  for (const event of stored(run)) view = foldRun(view, event);
  if (view === null) throw new Error('no view');
  return view;
}

const sequenceOf = (run: BuildRun, type: string): number =>
  run.events.find((event) => event.type === type)?.sequence ?? 0;

describe('a fork', () => {
  it('can be made at every event of a run but where it ended, and replays by itself', () => {
    const run = anEventfulRun();
    expect(run.view?.status).toBe('completed');
    const end = run.events.findLast((event) => event.origin === 'input')?.sequence ?? 0;
    let forks = 0;
    for (const { sequence } of run.events) {
      const fork = forkAt(run, sequence);
      if (sequence >= end) {
        expect(fork).toEqual({
          ok: false,
          message: `the run had ended there (completed); choose an event before ${end}`,
        });
        continue;
      }
      const made = taken(fork);
      forks += 1;
      const replayed = replay(build, newRun('q'), stored(made));
      expect(replayed).toMatchObject({ ok: true, state: { sequence: made.events.length } });
      expect(made.activities.map(({ key }) => key).toSorted()).toEqual(Object.values(made.state.activities).toSorted());
      expect(JSON.stringify([made.activities, made.state.activities, made.state.timers])).not.toMatch(/"r\/\d/);
    }
    expect(forks).toBeGreaterThan(50);
  });

  it('is at the end of the step that holds the event', () => {
    const run = BuildRun.start().toPlanGate();
    const first = sequenceOf(run, 'COST_RECORDED');
    expect(run.events[first]?.origin).toBe('emitted');
    const [middle, end] = [first, first + 1].map((at) => taken(forkAt(run, at)).state.view);
    expect(middle).toEqual(end);
  });

  it('waits at the same gate with a gate of its own, and keeps what was approved and when', () => {
    const run = BuildRun.start().toImplementation();
    const asked = sequenceOf(run, 'APPROVAL_REQUESTED');
    const view = viewOf(taken(forkAt(run, asked)));
    expect(view).toMatchObject({
      id: 'q',
      userId: 'ada',
      status: 'awaiting_approval',
      branch: 'autonomous/q-login-flow',
      forkedFrom: { runId: 'r', at: asked },
      gate: { id: `q.${asked}`, runId: 'q', kind: 'plan' },
      startedAt: run.view?.startedAt,
      createdAt: NOW,
    });
    const approved = viewOf(taken(forkAt(run, sequenceOf(run, 'APPROVAL_GRANTED') + 1)));
    expect(approved.gates).toMatchObject([{ gateId: `q.${asked}`, decision: 'approve', by: 'me' }]);
  });

  it('rewrites keys and gates and leaves what activities gave as it was', () => {
    const run = BuildRun.start().toPlanGate();
    const gate = run.view?.gate?.id ?? '';
    run.send('APPROVAL_GRANTED', { by: 'me', gateId: gate, notes: `see r.1 and r/1/x of ${gate}` });
    const { events } = taken(forkAt(run, run.state.sequence));
    const granted = events.find(({ type }) => type === 'APPROVAL_GRANTED')?.payload;
    expect(granted).toMatchObject({ gateId: gate.replace(/^r/, 'q'), notes: `see r.1 and r/1/x of ${gate}` });
    const outcome = events.find(({ type }) => type === 'ACTIVITY_COMPLETED')?.payload as JsonObject;
    expect(String(outcome['key'])).toMatch(/^q\/1\/prepare$/);
  });

  it('goes on with another configuration: work under way begins anew with it', () => {
    const run = BuildRun.start().toImplementation();
    const config = { ...aConfig, modelRouting: { ...aConfig.modelRouting, implementer: 'other:model' } };
    const made = taken(forkAt(run, run.state.sequence, { config }));
    expect(made.activities).toMatchObject([
      { activity: 'implementer', input: { config: { modelRouting: { implementer: 'other:model' } } } },
    ]);
    expect(viewOf(made)).toMatchObject({ config, currentStage: 'implementation', status: 'running' });
    expect(viewOf(made).stages).toHaveLength(2);
    const clock = Object.values(made.state.timers);
    expect(clock.map(({ dueAt }) => dueAt)).toEqual([new Date(Date.parse(NOW) + 3_600_000).toISOString()]);
  });

  it('moves its clocks by the time since the event, and starts what was under way under its own keys', () => {
    const run = BuildRun.start().toImplementation();
    const left = Date.parse(Object.values(run.state.timers)[0]?.dueAt ?? '') - run.now;
    const made = taken(forkAt(run, run.state.sequence));
    expect(Object.values(made.state.timers).map(({ dueAt }) => Date.parse(dueAt) - Date.parse(NOW))).toEqual([left]);
    expect(made.activities).toMatchObject([
      { activity: 'implementer', key: expect.stringMatching(/^q\/\d+\/implementer$/) },
    ]);
  });

  it('takes another request from the start', () => {
    const run = BuildRun.start().done('prepare', outputs.prepare(aConfig));
    const made = taken(forkAt(run, run.state.sequence, { request: 'Create a logout' }));
    expect(viewOf(made).originalRequest).toBe('Create a logout');
    expect(made.state.snapshot?.context).toMatchObject({ request: 'Create a logout', branch: request.branch });
  });

  it('knows where the workspace is, also where no event says so', () => {
    const run = BuildRun.start()
      .toImplementation()
      .done('implementer', outputs.implementerAsks)
      .done('saveWork', { ...outputs.commitCode, commit: 'c-checkpoint' });
    expect(run.view?.headCommit).toBe('c-plan');
    const { state } = taken(forkAt(run, run.state.sequence));
    expect(build.workspace?.(state.snapshot?.context as never)).toBe('c-checkpoint');
  });

  it('can be forked again', () => {
    const run = BuildRun.start().toPlanGate();
    const first = taken(forkAt(run, run.state.sequence, { config: { ...aConfig, maxFixAttempts: 9 } }));
    const again = forkRun(stored(first), only, { ...request, runId: 'z', branch: 'b-z', at: first.events.length });
    const view = viewOf(taken(again));
    expect(view).toMatchObject({ forkedFrom: { runId: 'q' }, branch: 'b-z', config: { maxFixAttempts: 9 } });
    expect(
      taken(again)
        .events.filter(({ type }) => type === 'RUN_FORKED')
        .map(({ payload }) => payload['branch']),
    ).toEqual(['b-z', 'b-z']);
  });

  it('leaves the exploration that its source is a variant of', () => {
    const run = BuildRun.start().toPlanGate();
    const first = run.events[0];
    if (!first) throw new Error('no first event');
    const explored = [{ ...first, payload: { ...first.payload, explorationId: 'x-1' } }, ...run.events.slice(1)];
    expect(viewOf(taken(forkRun(explored, only, { ...request, at: 5 }))).explorationId).toBeUndefined();
  });

  it('is refused where the source was quarantined, had not begun or has no such event', () => {
    const run = BuildRun.start().toPlanGate();
    const { sequence } = run.state;
    const quarantine: WorkflowEvent = {
      ...(run.events[0] as WorkflowEvent),
      sequence: sequence + 1,
      type: 'RUN_PAUSED',
      payload: { message: 'it is broken' },
    };
    const events = [...run.events, quarantine];
    expect(forkRun(events, only, { ...request, at: sequence + 1 })).toMatchObject({
      ok: false,
      message: expect.stringContaining(
        `the run was quarantined there (it is broken); choose an event before ${sequence + 1}`,
      ),
    });
    expect(forkRun(events, only, { ...request, at: sequence }).ok).toBe(true);
    expect(forkRun(events, only, { ...request, at: 99 })).toMatchObject({
      message: `its events are 1 to ${sequence + 1}`,
    });
    const queued = {
      ...quarantine,
      sequence: 1,
      type: 'RUN_QUEUED',
      payload: { position: 1, start: run.events[0]?.payload },
    };
    expect(forkRun([queued], only, request)).toMatchObject({ message: expect.stringContaining('had not started yet') });
    expect(forkRun(run.events, () => undefined, request)).toMatchObject({
      message: 'version 3 of its workflow is not registered on this server',
    });
  });

  it('is refused where another history follows from the same inputs, and says where', () => {
    const run = BuildRun.start().toPlanGate();
    const at = sequenceOf(run, 'APPROVAL_REQUESTED');
    const events = run.events.map((event) =>
      event.sequence === at ? { ...event, payload: { ...event.payload, summary: 'Another one' } } : event,
    );
    expect(forkRun(events, only, { ...request, at })).toMatchObject({
      ok: false,
      message: expect.stringContaining(`event ${at} is another one in the new run: APPROVAL_REQUESTED`),
    });
  });
});
