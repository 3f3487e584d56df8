/**
 * Servers that are killed, stopped and started again: real processes, remotes, databases and sandboxes. Whatever happened
 * on the way, a run ends as one that was left in peace, and nothing that others can see was done twice.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isEvent, shownAt, type WorkflowEvent } from '@autonomous/shared';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createBubblewrapProvider } from '../../src/sandboxes/bubblewrap/bubblewrap.ts';
import { isOfTheBaseline } from '../fixtures/baseline-events.fixture.ts';
import { type LaunchOptions, RunUnderTest, statePath } from '../fixtures/run-under-test.fixture.ts';

const THREE_DAYS_MS = 3 * 24 * 60 * 60_000;
const THREE_DAYS_LATER = fileURLToPath(new URL('three-days-later.fixture.ts', import.meta.url));

/** Takes its time with the first version of the code, which the second one mends by this. */
const LONG_AT_FIRST = 'grep -rqF --include=login.js states.delete . || { echo a long check; sleep 5; }; npm test';

const available = await createBubblewrapProvider().availability();
// The runs check their code in sandboxes: only a machine that cannot run any skips this file, and says why.
if (!available.ok) process.stderr.write(`crash tests are skipped: ${available.reason}. ${available.remedy}\n`);

vi.setConfig({ maxConcurrency: 2 });

let compileCache: string;
const it = test.extend<{ launch: (options?: Omit<LaunchOptions, 'compileCache'>) => Promise<RunUnderTest> }>({
  // oxlint-disable-next-line eslint/no-empty-pattern -- vitest reads from the pattern which fixtures this one needs
  launch: async ({}, use) => {
    const runs: RunUnderTest[] = [];
    await use(async (options) => {
      const run = await RunUnderTest.launch({ compileCache, ...options });
      runs.push(run);
      return run;
    });
    await Promise.all(runs.map((run) => run.remove()));
  },
});

describe.skipIf(!available.ok)('a run', () => {
  let undisturbed: Story;

  beforeAll(async () => {
    compileCache = await mkdtemp(path.join(tmpdir(), 'autonomous-compiled-'));
    const run = await RunUnderTest.launch({ compileCache });
    try {
      await finish(run);
      undisturbed = await tell(run);
    } finally {
      await run.remove();
    }
    expect(undisturbed.counts).toEqual(MILESTONES);
  });
  afterAll(() => rm(compileCache, { recursive: true, force: true }));

  describe.concurrent('whose server is killed', () => {
    it('goes on in planning: while the planner works, the plan is committed, a person is asked, the plan is pushed', async ({
      launch,
    }) => {
      const run = await launch({ stall: { role: 'planner', call: 1, turn: 2 } });
      await run.untilProgress('planner', 'tool_call', /test\/app\.test\.js/);
      expect(await run.kill()).toMatchObject({ state: 'planning.drafting', activities: ['planner'] });

      const committed = await run.git.hold('after', `update-ref refs/heads/${run.launched.branch} *`);
      await run.restart();
      await committed.reached;
      // Whatever is under way at three deaths in a row is quarantined.
      await run.until('BASELINE_RECORDED');
      expect(await run.kill()).toMatchObject({ state: 'planning.committing', activities: ['commitPlan'] });
      expect(await run.mirror(...newest(run.launched.branch))).toEqual(['Plan: Login flow with OAuth']);
      await committed.kill();

      await run.restart();
      const asked = await run.until('APPROVAL_REQUESTED');
      expect(await run.kill()).toMatchObject({ state: 'awaitingPlanApproval', activities: [], timers: [] });

      const pushed = await run.git.hold('after', `push *:refs/heads/${run.launched.branch}`);
      await run.restart();
      expect(await run.openGates()).toEqual([`${run.id}.${asked.sequence}`]);
      await run.decide();
      await pushed.reached;
      expect(await run.kill()).toMatchObject({ state: 'pushingPlan', activities: ['pushPlan'] });
      expect(await run.remote(...newest(run.launched.branch))).toEqual(['Plan: Login flow with OAuth']);
      await pushed.kill();

      await run.restart();
      await finish(run);
      expect(await tell(run)).toEqual(undisturbed);
    });

    it('goes on in implementation: while a question is open, the code is half written, the code is committed', async ({
      launch,
    }) => {
      const stall = { role: 'implementer', call: 2, turn: 2 } as const;
      const run = await launch({ stall });
      await run.decide();
      const asked = await run.until('CLARIFICATION_REQUESTED');
      expect(await run.kill()).toMatchObject({ state: 'awaitingAnswer', activities: [], timers: [] });

      await run.restart({ stall });
      expect(await run.openGates()).toEqual([`${run.id}.${asked.sequence}`]);
      await run.decide();
      await run.untilProgress('implementer', 'tool_call', /test\/login\.test\.js/);
      expect(await run.kill()).toMatchObject({ state: 'implementation.implementing', activities: ['implementer'] });
      expect(await run.workFiles('implementation')).toContain('src/login.js');

      const committed = await run.git.hold('after', `update-ref refs/heads/${run.launched.branch} *`);
      await run.restart();
      await committed.reached;
      // Whatever is under way at three deaths in a row is quarantined.
      await run.until('BASELINE_RECORDED');
      expect(await run.kill()).toMatchObject({ state: 'implementation.committing', activities: ['commitCode'] });
      expect(await run.mirror(...newest(run.launched.branch))).toEqual(['Login flow with OAuth']);
      await committed.kill();

      await run.restart();
      await finish(run);
      expect(await tell(run)).toEqual(undisturbed);
    });

    it('goes on in validation: while a check runs, whose sandbox dies too, and when the report is committed', async ({
      launch,
    }) => {
      const run = await launch({ config: { commands: { test: LONG_AT_FIRST } } });
      await run.decide();
      await run.decide();
      await run.untilProgress('checkAsIs', 'output', /a long check/);
      expect(await run.processes()).toContainEqual(expect.stringContaining('bwrap'));
      expect(await run.kill()).toMatchObject({ state: 'validation.checkingAsIs', activities: ['checkAsIs'] });
      await expect.poll(() => run.processes()).toEqual([]);

      const committed = await run.git.hold('after', `update-ref refs/heads/${run.launched.branch} *`);
      await run.restart();
      await committed.reached;
      expect(await run.kill()).toMatchObject({ state: 'validation.reporting', activities: ['report'] });
      expect(await run.mirror(...newest(run.launched.branch))).toEqual(['Validation report 1: failed']);
      await committed.kill();

      await run.restart();
      await finish(run);
      expect(await tell(run)).toEqual(undisturbed);
    });

    it('goes on in publishing: before the base is fetched, when the record is committed, when the branch is pushed', async ({
      launch,
    }) => {
      const run = await launch();
      await run.until('APPROVAL_REQUESTED');
      const fetching = await run.git.hold('before', 'fetch *');
      await run.decide();
      await run.decide();
      await fetching.reached;
      expect(await run.kill()).toMatchObject({ state: 'publishing.integrating', activities: ['integrate'] });
      await fetching.kill();

      const recorded = await run.git.hold('after', `update-ref refs/heads/${run.launched.branch} *`);
      await run.restart();
      await recorded.reached;
      expect(await run.kill()).toMatchObject({ state: 'publishing.recording', activities: ['copyRecord'] });
      expect(await run.mirror(...newest(run.launched.branch))).toEqual([`Record of run ${run.id}`]);
      await recorded.kill();

      const pushed = await run.git.hold('after', `push *:refs/heads/${run.launched.branch}`);
      await run.restart();
      await pushed.reached;
      expect(await run.kill()).toMatchObject({ state: 'publishing.pushing', activities: ['pushBranch'] });
      expect(await run.remote(...newest(run.launched.branch))).toEqual([`Record of run ${run.id}`]);
      await pushed.kill();

      await run.restart();
      await finish(run);
      expect(await tell(run)).toEqual(undisturbed);
    });

    it('is merged once: killed when the merge has landed, and when the run is completed and its record is not', async ({
      launch,
    }) => {
      const run = await launch();
      const landed = await run.git.hold('after', 'push *:refs/heads/main');
      await run.decide();
      await run.decide();
      await landed.reached;
      expect(await run.kill()).toMatchObject({ state: 'publishing.merging', activities: ['merge'] });
      expect(await run.remote(...newest('main'))).toEqual(['Login flow with OAuth']);
      await landed.kill();

      await run.restart();
      await run.until('RUN_COMPLETED');
      const { state, events } = await run.kill();
      expect(state).toBe('completed');
      expect((await recordOf(run)).length).toBeLessThan(events.length);

      await run.restart();
      expect(await tell(run)).toEqual(undisturbed);
    });

    it('is merged once: killed before the push, which comes late, when all is over', async ({ launch }) => {
      const run = await launch({ config: { git: { mergeStrategy: 'merge' } } });
      const pushing = await run.git.hold('before', 'push *:refs/heads/main');
      await run.decide();
      await run.decide();
      await pushing.reached;
      const before = await run.remote('rev-parse', 'main');
      expect(await run.kill()).toMatchObject({ state: 'publishing.merging', activities: ['merge'] });
      expect(await run.remote('rev-parse', 'main')).toEqual(before);

      await run.restart();
      await run.until('RUN_COMPLETED');
      const merged = await run.remote('rev-parse', 'main');
      await pushing.release();
      expect(await run.remote('rev-parse', 'main')).toEqual(merged);
      expect(await tell(run)).toEqual(undisturbed);
    });
  });

  describe.concurrent('whose server is stopped', () => {
    it('in the middle of an implementation is taken up by the next one', async ({ launch }) => {
      const run = await launch({ stall: { role: 'implementer', call: 2, turn: 2 } });
      await run.decide();
      await run.decide();
      await run.untilProgress('implementer', 'tool_call', /test\/login\.test\.js/);
      const { end, tookMs, ...left } = await run.stop();
      expect(end).toEqual({ code: 0, signal: null });
      expect(tookMs).toBeLessThan(60_000);
      expect(left).toMatchObject({ state: 'implementation.implementing', activities: ['implementer'] });

      await run.restart();
      await finish(run);
      expect(await tell(run)).toEqual(undisturbed);
    });

    it('at its plan gate is approved three days later, and no stage has run out of time', async ({ launch }) => {
      const run = await launch();
      const asked = await run.until('APPROVAL_REQUESTED');
      expect(await run.stop()).toMatchObject({ end: { code: 0 }, state: 'awaitingPlanApproval', timers: [] });

      await run.restart({ imports: [THREE_DAYS_LATER] });
      await finish(run);
      const approved = await run.until('APPROVAL_GRANTED');
      expect(Date.parse(approved.timestamp) - Date.parse(asked.timestamp)).toBeGreaterThan(THREE_DAYS_MS);
      expect(await tell(run)).toEqual(undisturbed);
    });
  });

  describe.concurrent('at whose plan gate several people stand', () => {
    it.for([2, 20])('takes one of %i approvals at once, and shows the others the winner', async (count, { launch }) => {
      const run = await launch();
      const { sequence } = await run.until('APPROVAL_REQUESTED');
      const gateId = `${run.id}.${sequence}`;
      const [gate] = await run.client.listGates(run.id);
      const approval = { decision: 'approve', ...(gate && shownAt(gate)) };
      const answers = await run.postAtOnce(count, `/api/gates/${gateId}/decision`, approval);
      const granted = await run.until('APPROVAL_GRANTED');

      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const refused = answers.filter(({ status }) => status !== 200);
      expect(refused).toHaveLength(count - 1);
      for (const answer of refused) {
        expect(answer).toMatchObject({
          status: 409,
          contentType: 'application/problem+json',
          body: { code: 'conflict', winner: { gateId, decision: 'approve', by: 'local', at: granted.timestamp } },
        });
      }
      expect((await run.stop()).events.filter(({ type }) => type === 'APPROVAL_GRANTED')).toHaveLength(1);
    });
  });
});

/** What is the same for every run of this script, however often its server ended. */
interface Story {
  /** Type of each event, in order; a change of state with the state. */
  readonly events: readonly string[];
  readonly counts: typeof MILESTONES;
  /** Mode, hash and path of each file on main outside `.autonomous/`. */
  readonly code: readonly string[];
  /** Subject of each commit of the run's branch, oldest first. */
  readonly commits: readonly string[];
}

const MILESTONES = {
  RUN_STARTED: 1,
  RUN_CONFIGURED: 1,
  APPROVAL_REQUESTED: 1,
  APPROVAL_GRANTED: 1,
  CLARIFICATION_REQUESTED: 1,
  CLARIFICATION_ANSWERED: 1,
  IMPLEMENTATION_SUCCEEDED: 2,
  VALIDATION_FAILED: 1,
  VALIDATION_PASSED: 1,
  FIX_DECIDED: 1,
  CHANGES_PUBLISHED: 1,
  RUN_MERGED: 1,
  RUN_COMPLETED: 1,
  ACTIVITY_FAILED: 0,
  TIMER_FIRED: 0,
};

/** Decides the gates that are still to come, and waits for the end. */
async function finish(run: RunUnderTest): Promise<void> {
  while (run.decided < MILESTONES.APPROVAL_REQUESTED + MILESTONES.CLARIFICATION_REQUESTED) await run.decide();
  await run.until('RUN_COMPLETED');
}

/** Stops the server of a completed run, checks what must hold of every one, and gives what has to be the same. */
async function tell(run: RunUnderTest): Promise<Story> {
  const { end, view, activities, timers, events } = await run.stop();
  expect(end).toEqual({ code: 0, signal: null });
  expect({ status: view.status, activities, timers }).toEqual({ status: 'completed', activities: [], timers: [] });
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(run.heard, 'what the client was told: each event once, in order').toEqual(events);
  expect(await recordOf(run), 'the record in git').toEqual(events.map(({ position: _, ...event }) => event));

  const main = `${view.baseCommit}..main`;
  const branch = `${view.baseCommit}..${view.branch}`;
  expect(await run.remote('log', '--first-parent', EFFECT_KEYS, main)).toEqual([
    expect.stringMatching(new RegExp(`^${run.id}/.*\\bmerge\\b`)),
  ]);
  const keys = await run.remote('log', EFFECT_KEYS, branch);
  const commits = await run.remote('log', '--reverse', '--format=%s', branch);
  expect(new Set(keys).size, 'commits with an effect key of their own').toBe(commits.length);

  return {
    events: events.filter((event) => !isOfTheBaseline(event)).map(describeEvent),
    counts: countsOf(events),
    code: (await run.remote('ls-tree', '-r', 'main')).filter((line) => !line.includes('\t.autonomous/')),
    commits: commits.map((subject) => subject.replace(run.id, '<run>')),
  };
}

const EFFECT_KEYS = '--format=%(trailers:key=Effect-Key,valueonly,separator=%x2c)';

function newest(branch: string): string[] {
  return ['log', '-1', '--format=%s', branch];
}

function describeEvent(event: WorkflowEvent): string {
  return isEvent(event, 'STATE_CHANGED') ? `${event.type} ${statePath(event.payload.state)}` : event.type;
}

function countsOf(events: readonly WorkflowEvent[]): typeof MILESTONES {
  const counts = { ...MILESTONES };
  for (const type of Object.keys(counts) as (keyof typeof MILESTONES)[]) {
    counts[type] = events.filter((event) => event.type === type).length;
  }
  return counts;
}

/** The run's events as the remote has them on the record branch, without what each line says of its step. */
async function recordOf(run: RunUnderTest): Promise<object[]> {
  const lines = await run.remote('show', `autonomous/record:.autonomous/runs/${run.id}/events.jsonl`);
  return lines.map((line) => {
    const { payloadHash: _, step: _step, ...event } = JSON.parse(line) as Record<string, unknown>;
    return event;
  });
}
