/**
 * Every state of the build workflow that outcomes, signals and time lead to: xstate/graph finds the shortest way to each
 * from the machine alone, and the way is gone over HTTP, with activities that give what the way wants.
 */
import {
  type JsonObject,
  type JsonValue,
  NeedsHuman,
  RetryableFailure,
  type RunView,
  shownAt,
  type WayOn,
} from '@autonomous/shared';
import { onTestFinished, describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot, AnyStateNode, EventObject } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { WAYS } from '../../src/activities/git/ways.ts';
import type { ActivityContext } from '../../src/core/activity.ts';
import { aConfig, buildDefinition as build, outputs } from '../../src/workflows/build/build.fixture.ts';
import type { BuildContext } from '../../src/workflows/build/types.ts';
import { BUILT_IN_RUN_CONFIG } from '../../src/run-config/run-config.ts';
import { errand } from './errand.fixture.ts';
import { ModelServer, PROJECT } from './model-server.fixture.ts';

type Event = EventObject & JsonObject;

/** States in which a run never rests, and why. */
const NEVER_RESTED_IN: Readonly<Record<string, string>> = {
  'active.planGate': 'decides at once whether a person has to approve the plan',
  'active.asking': 'decides at once whether the question is one too many',
  'active.validation.work.choosingChecks': 'decides at once which checks there are',
  'active.deciding': 'decides at once whether the result is mended without asking',
  'active.resultGate': 'decides at once whether a person has to approve the result',
  'active.publishing.checkingSupport': 'decides at once whether there is evidence for the result',
  'active.publishing.choosing': 'decides at once between merging and the end',
  'paused.choosing': 'decides at once whether the run resumes by itself',
};

/** States that one run alone does not lead to, and where they are gone to. */
const WITH_ANOTHER_RUN: Readonly<Record<string, string>> = {
  'active.implementation.work.takingFiles': 'takes files of another result: build/taken-files.test.ts',
};

const done = (id: string, output: JsonValue): Event => ({ type: `xstate.done.actor.${id}`, output, actorId: id });
const failing = (id: string, error: JsonObject): Event => ({ type: `xstate.error.actor.${id}`, error, actorId: id });

const config = {
  ...aConfig,
  git: { ...aConfig.git, autoMerge: true },
  maxClarifications: 1,
  maxFixAttempts: 1,
  trustMode: { planning: 'manual', implementation: 'manual', fixes: 'auto' },
} as const;

const noPlace = { kind: 'needs_human', reason: 'sandbox_unavailable', message: 'no sandbox' };
const declined = {
  kind: 'needs_human',
  reason: 'push_rejected',
  message: 'others pushed',
  ways: [WAYS.pushBeside, WAYS.takeIn, WAYS.resolveBase].map((way) => ({ way, text: way, note: 'As chosen.' })),
};
const limited = { kind: 'retryable', reason: 'rate_limited', message: 'slow down', retryAfterMs: 120_000 };

/** What the outside may say, by the state that it is said in. */
const events: readonly Event[] = [
  done('prepare', { ...outputs.prepare(config), setup: { command: 'npm ci', source: 'package.json' } }),
  done('prepare', { ...outputs.prepare(config), test: null }),
  failing('prepare', noPlace),
  done('planner', outputs.planner),
  done('planner', outputs.plannerAsks),
  done('planner', outputs.plannerFails),
  failing('planner', limited),
  done('commitPlan', outputs.commitPlan),
  done('plan-reply', { reply: 'Because.', cost: outputs.planner.cost }),
  done('revisePlan', { ok: true, plan: outputs.commitPlan }),
  done('pushPlan', outputs.pushed),
  done('setUp', { ran: true }),
  done('implementer', outputs.implementer),
  done('implementer', outputs.implementerAsks),
  done('saveWork', outputs.commitCode),
  done('commitCode', outputs.commitCode),
  done('checkAsIs', outputs.check('as_is')),
  done('checkAsIs', outputs.check('as_is', false)),
  done('checkBaseTests', outputs.check('base_tests')),
  done('validator', outputs.validator),
  done('report', outputs.report),
  done('integrate', { moved: false }),
  done('copyRecord', outputs.copyRecord),
  done('pushBranch', outputs.pushed),
  failing('pushBranch', declined),
  done('merge', outputs.merge),
  done('pushBranch', outputs.pullRequest),
  done('followPullRequest', outputs.asked),
  done('checkpoint', outputs.nothingLeft),
  { type: 'APPROVAL_GRANTED', by: 'local' },
  { type: 'APPROVAL_GRANTED', by: 'local', editedPlan: '# Plan' },
  { type: 'APPROVAL_REJECTED', by: 'local', feedback: 'Again' },
  { type: 'CLARIFICATION_ANSWERED', by: 'local', response: 'npm test' },
  ...declined.ways.map(({ text }): Event => ({ type: 'CLARIFICATION_ANSWERED', by: 'local', response: text })),
  { type: 'QUESTION_ASKED', by: 'local', question: 'Why?' },
  { type: 'FIX_DECIDED', by: 'local', decision: 'accept', reason: 'It will do' },
  { type: 'FIX_DECIDED', by: 'local', decision: 'close', reason: 'Not now' },
  { type: 'RETRY_REQUESTED', by: 'local' },
  { type: 'RUN_CANCELLED', by: 'local' },
  { type: 'xstate.after.planningTimeout.build.active.planning.clock.running' },
];

describe('the build workflow over HTTP', () => {
  it('visits every state that outcomes, signals and time lead to', async () => {
    const ways = waysToEachState();
    const visited = new Set<string>();
    for (const way of ways) for (const state of await walk(way)) visited.add(state);
    const unvisited = atomicStates().filter((state) => !visited.has(state));
    expect(unvisited.sort()).toEqual(Object.keys({ ...NEVER_RESTED_IN, ...WITH_ANOTHER_RUN }).sort());
  });

  it('visits every state of a small workflow', async () => {
    const ways = shortest(errand.machine, [
      done('drafter', 'a draft'),
      done('worker', 'done'),
      failing('worker', noPlace),
      { type: 'CLARIFICATION_ANSWERED', by: 'local', response: 'Home' },
      { type: 'APPROVAL_GRANTED', by: 'local' },
      { type: 'RETRY_REQUESTED', by: 'local' },
      { type: 'RUN_CANCELLED', by: 'local' },
    ]);
    const visited = new Set<string>();
    for (const way of ways) for (const state of await walk(way, 'errand')) visited.add(state);
    expect([...visited].sort()).toEqual(Object.keys(errand.machine.root.states).sort());
  });
});

/** The events of a way, each with the state that it leads to, as XState writes state values. */
type Way = readonly { readonly event: Event; readonly state: JsonValue }[];

function waysToEachState(): Way[] {
  return shortest(build.machine, events);
}

/** The shortest way to each state value. */
function shortest(machine: typeof build.machine, possible: readonly Event[]): Way[] {
  const paths = getShortestPaths(machine, {
    input: {
      projectId: PROJECT,
      userId: 'local',
      workflow: { name: 'build', version: build.version, fingerprint: build.fingerprint },
      request: 'Go',
      config: BUILT_IN_RUN_CONFIG,
      requestedConfig: {},
      branch: 'autonomous/r',
      runId: 'r',
      startedAt: '2026-03-01T10:00:00.000Z',
    },
    events: (snapshot: AnyMachineSnapshot) => possible.filter((event) => isOpen(snapshot, event)),
    serializeState: (snapshot) => identity(snapshot as AnyMachineSnapshot),
  });
  const byState = new Map<string, Way>();
  for (const { steps } of paths) {
    const way = steps.map(({ event, state }) => ({
      event: event as Event,
      state: (state as AnyMachineSnapshot).value as JsonValue,
    }));
    const last = JSON.stringify(way.at(-1)?.state);
    const known = byState.get(last);
    if (known === undefined || known.length > way.length) byState.set(last, way);
  }
  return [...byState.values()];
}

/** Only the outcome of what is under way, and only what the machine takes. */
function isOpen(snapshot: AnyMachineSnapshot, event: Event): boolean {
  const id = event['actorId'];
  if (typeof id === 'string' && snapshot.children[id] === undefined) return false;
  return snapshot.can(event);
}

/** Two states with the same of this go on the same ways; the rest of the context only grows. */
function identity(snapshot: AnyMachineSnapshot): string {
  const context = snapshot.context as Partial<BuildContext>;
  const {
    setup,
    setupDone,
    test,
    question,
    parserRetried,
    failure,
    paused,
    fixAttempts,
    clarificationCount,
    codeTree,
  } = context;
  const facts = [setup !== null, setupDone, test, question?.from, parserRetried, failure?.from, paused?.reason];
  return JSON.stringify([
    snapshot.value,
    ...facts,
    paused?.resumesInMs,
    (fixAttempts ?? 0) > 0,
    Math.min(clarificationCount ?? 0, 2),
    codeTree !== null,
    context.published?.pullRequest !== undefined,
    context.following?.answering !== null,
    context.accepted !== null,
  ]);
}

/** Goes a way over HTTP. @returns the atomic states that the run's log says it was in */
async function walk(way: Way, workflow = 'build'): Promise<Set<string>> {
  const calls = new Map<string, (outcome: Event) => void>();
  const waiting = new Map<string, () => void>();
  const server = await ModelServer.start({
    workflows: [build, errand],
    activities: [...Object.keys(build.machine.implementations.actors), 'draft', 'work'],
    perform: (_src, _input, context: ActivityContext) =>
      new Promise((resolve, reject) => {
        calls.set(context.activity, (event) => {
          if (event.type.startsWith('xstate.done.')) resolve(event['output'] as JsonValue);
          else reject(errorOf(event['error'] as JsonObject));
        });
        waiting.get(context.activity)?.();
      }),
  });
  onTestFinished(() => server.close());
  const { id } = await server.client.launchRun({ projectId: PROJECT, workflow, request: 'Go' });
  for (const { event, state } of way) {
    const activity = event['actorId'];
    if (typeof activity === 'string') {
      if (!calls.has(activity)) await new Promise<void>((resolve) => waiting.set(activity, resolve));
      calls.get(activity)?.(event);
      calls.delete(activity);
    } else if (event.type.startsWith('xstate.after.')) await server.pass(3_600_000);
    else await send(server, id, event);
    await server.until(id, (view: RunView) => JSON.stringify(view.state) === JSON.stringify(state));
  }
  const logged = (await server.events(id)).filter(({ type }) => type === 'STATE_CHANGED');
  return new Set(logged.flatMap(({ payload }) => atomicIn(payload['state'] as JsonValue)));
}

async function send({ client }: ModelServer, id: string, event: Event): Promise<void> {
  const text = (field: string) => String(event[field]);
  const [gate] = await client.listGates(id);
  const shown = gate === undefined ? {} : shownAt(gate);
  switch (event.type) {
    case 'xstate.init':
      return;
    case 'APPROVAL_GRANTED':
      await client.decideOpenGate(id, {
        decision: 'approve',
        ...shown,
        ...(event['editedPlan'] === undefined ? {} : { editedPlan: text('editedPlan') }),
      });
      return;
    case 'APPROVAL_REJECTED':
      await client.decideOpenGate(id, { decision: 'reject', feedback: text('feedback') });
      return;
    case 'CLARIFICATION_ANSWERED':
      await client.decideOpenGate(id, { decision: 'answer', response: text('response') });
      return;
    case 'QUESTION_ASKED':
      await client.decideOpenGate(id, { decision: 'ask', question: text('question') });
      return;
    case 'FIX_DECIDED':
      await (event['decision'] === 'close'
        ? client.decideOpenGate(id, { decision: 'close', reason: text('reason') })
        : client.decideOpenGate(id, { decision: 'accept', ...shown, reason: text('reason') }));
      return;
    case 'RETRY_REQUESTED':
      await client.decideOpenGate(id, { decision: 'retry' });
      return;
    case 'RUN_CANCELLED':
      await client.cancelRun(id);
      return;
    default:
      throw new Error(`nobody knows how ${event.type} is sent`);
  }
}

/** What an activity throws so that its failure is this one. */
function errorOf({ reason, message, retryAfterMs, ways = [] }: JsonObject): Error {
  const text = String(message);
  if (typeof retryAfterMs === 'number') return new RetryableFailure(text, { reason: 'rate_limited', retryAfterMs });
  return new NeedsHuman(reason as 'sandbox_unavailable', text, { ways: ways as unknown as readonly WayOn[] });
}

/** Paths of the deepest states of a state value: `active.planning.work.drafting`. */
function atomicIn(value: JsonValue, above = ''): string[] {
  if (typeof value === 'string') return [`${above}${value}`];
  return Object.entries(value as JsonObject).flatMap(([name, deeper]) => atomicIn(deeper ?? '', `${above}${name}.`));
}

function atomicStates(): string[] {
  const found: string[] = [];
  const visit = (node: AnyStateNode): void => {
    const children = Object.values(node.states) as AnyStateNode[];
    if (children.length === 0 && node.type !== 'history') found.push(node.path.join('.'));
    for (const child of children) visit(child);
  };
  visit(build.machine.root);
  return found;
}
