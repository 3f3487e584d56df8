/** Builds and opens what the bench `scale` measures, in a process of its own: `scale-process.ts TASK`. */
import {
  activity,
  type ActivityContext,
  createEngine,
  defineWorkflow,
  type Engine,
  type EventStore,
  ONE_TRY,
  openSqliteEventStore,
  type StateMeta,
} from '@autonomous/orchestrator/engine';
import type { JsonValue } from '@autonomous/shared';
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { endWithParent, report } from '../contest/child.ts';
import { drive, ids, settleMemory } from '../contest/load.ts';
import { rssMb } from '../contest/processes.ts';
import { median } from '../contest/statistics.ts';
import { MARKER } from './damage.ts';

const DAMAGED_RUN = 'damaged';
const LONG_RUN = 'long';

export type Task =
  /** One run that took so many signals, the state of which has grown to so many bytes. */
  | { readonly task: 'talk'; readonly file: string; readonly events: number; readonly stateBytes: number }
  /** Opens that run, then sends it so many signals one after the other. */
  | { readonly task: 'open'; readonly file: string; readonly appends: number }
  /** So many runs that wait for their approval; the process then stays until it is killed. */
  | { readonly task: 'wait'; readonly file: string; readonly runs: number }
  /** Takes them up again. */
  | { readonly task: 'resume'; readonly file: string; readonly runs: number };

export type ScaleReport =
  /** It goes on. */
  | { readonly report: 'talking' }
  | { readonly report: 'talked'; readonly events: number; readonly stateBytes: number }
  | { readonly report: 'opened'; readonly ms: number }
  | { readonly report: 'appended'; readonly latenciesMs: readonly number[] }
  | { readonly report: 'waiting' }
  /** The engine takes approvals. */
  | { readonly report: 'ready' }
  | {
      readonly report: 'resumed';
      /** Runs that still wait, beside the damaged one. */
      readonly waiting: number;
      readonly damagedIsParked: boolean;
      /** Of the newest 50 runs. */
      readonly listMs: number;
      readonly rssMb: number;
      /** For 100 of them, approved at the same time, to be completed. */
      readonly approved100Ms: number;
    };

const PAGE = 50;
const LISTINGS = 21;
const APPROVED = 100;
/** Signals on their way to one run. */
const TALKED_AT_ONCE = 200;
const MESSAGE_BYTES = 1_000;
/** As many as asked for, unless they take longer than that. */
const APPENDING_MS = 5_000;

interface TalkContext {
  readonly count: number;
  readonly messages: readonly string[];
}

/** Takes signals until somebody ends it: some of them are long and kept, most are only counted. */
const talk = defineWorkflow({
  name: 'talk',
  version: 1,
  description: 'A conversation without end',
  machine: setup({
    types: {
      context: {} as TalkContext,
      events: {} as { type: 'MESSAGE_SENT'; text: string } | { type: 'APPROVAL_GRANTED' },
      meta: {} as StateMeta<TalkContext>,
    },
  }).createMachine({
    id: 'talk',
    initial: 'listening',
    context: { count: 0, messages: [] },
    states: {
      listening: {
        meta: {
          status: 'awaiting_approval',
          stage: 'planning',
          gate: { kind: 'end', decisions: ['approve'], summary: () => 'Say something' },
        },
        on: {
          MESSAGE_SENT: {
            actions: assign(({ context, event }) => ({
              count: context.count + 1,
              messages: event.text === '' ? context.messages : [...context.messages, event.text],
            })),
          },
          APPROVAL_GRANTED: 'ended',
        },
      },
      ended: { type: 'final', meta: { status: 'completed' } },
    },
  }),
  signals: {
    MESSAGE_SENT: z.strictObject({ by: z.string(), text: z.string() }),
    APPROVAL_GRANTED: z.strictObject({ by: z.string() }),
  },
});

interface ChangeContext {
  readonly plan: string;
}

/** plan → a person approves → implement → completed */
const change = defineWorkflow({
  name: 'change',
  version: 1,
  description: 'A plan that waits for its approval',
  machine: setup({
    types: {
      context: {} as ChangeContext,
      events: {} as { type: 'APPROVAL_GRANTED' },
      meta: {} as StateMeta<ChangeContext>,
    },
    actors: { plan: activity<undefined, string>(), implement: activity<undefined, string>() },
  }).createMachine({
    id: 'change',
    initial: 'planning',
    context: { plan: '' },
    states: {
      planning: {
        meta: { status: 'running', stage: 'planning' },
        invoke: {
          id: 'planner',
          src: 'plan',
          onDone: { target: 'approval', actions: assign({ plan: ({ event }) => event.output }) },
        },
      },
      approval: {
        meta: {
          status: 'awaiting_approval',
          stage: 'planning',
          gate: { kind: 'plan', decisions: ['approve'], summary: () => 'Approve the plan' },
        },
        on: { APPROVAL_GRANTED: 'implementing' },
      },
      implementing: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: { id: 'implementer', src: 'implement', onDone: 'completed' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
    },
  }),
  signals: { APPROVAL_GRANTED: z.strictObject({ by: z.string() }) },
});

const activities = {
  plan: {
    retry: ONE_TRY,
    perform: async (_input: JsonValue, { runId }: ActivityContext) =>
      runId === DAMAGED_RUN ? MARKER.repeat(20) : 'p'.repeat(1_024),
  },
  implement: { retry: ONE_TRY, perform: async () => 'i'.repeat(4_096) },
};

endWithParent();
await carryOut(JSON.parse(process.argv[2] ?? '') as Task); // The bench wrote it.

async function carryOut(task: Task): Promise<void> {
  switch (task.task) {
    case 'talk':
      await talkAtLength(task.file, task.events, task.stateBytes);
      break;
    case 'open':
      await openLongRun(task.file, task.appends);
      break;
    case 'wait':
      await letRunsWait(task.file, task.runs);
      return; // It stays until it is killed.
    case 'resume':
      await resumeRuns(task.file, task.runs);
      break;
    default:
      task satisfies never;
  }
  process.exit();
}

async function openEngine(file: string): Promise<{ readonly engine: Engine; readonly store: EventStore }> {
  const store = openSqliteEventStore({ file });
  const engine = createEngine({ store, definitions: [talk, change], activities });
  await engine.start();
  return { engine, store };
}

async function talkAtLength(file: string, events: number, stateBytes: number): Promise<void> {
  const { engine, store } = await openEngine(file);
  const { lastSequence } = await engine.run(talk.name, { id: LONG_RUN });
  const signals = events - lastSequence;
  const kept = stateBytes / MESSAGE_BYTES;
  const text = 'm'.repeat(MESSAGE_BYTES);
  let sent = 0;
  let taken = 0;
  await drive(ids('signal', signals), TALKED_AT_ONCE, Infinity, async () => {
    // The long ones are spread evenly over the history.
    const before = Math.floor((sent * kept) / signals);
    sent += 1;
    const isLong = Math.floor((sent * kept) / signals) > before;
    await engine.signal(LONG_RUN, 'MESSAGE_SENT', { by: 'the bench', text: isLong ? text : '' });
    taken += 1;
    if (taken % 1_000 === 0) await report({ report: 'talking' } satisfies ScaleReport);
  });
  const { state } = await engine.inspect(LONG_RUN);
  await report({
    report: 'talked',
    events: state.sequence,
    stateBytes: JSON.stringify(state.snapshot?.context).length,
  } satisfies ScaleReport);
  await engine.stop();
  await store.close();
}

async function openLongRun(file: string, appends: number): Promise<void> {
  const from = performance.now();
  const { engine, store } = await openEngine(file);
  await Promise.all([engine.view(LONG_RUN), engine.inspect(LONG_RUN)]);
  await report({ report: 'opened', ms: performance.now() - from } satisfies ScaleReport);
  const latenciesMs: number[] = [];
  const until = performance.now() + APPENDING_MS;
  for (let append = 0; append < appends && performance.now() < until; append++) {
    const sentAt = performance.now();
    await engine.signal(LONG_RUN, 'MESSAGE_SENT', { by: 'the bench', text: '' });
    latenciesMs.push(performance.now() - sentAt);
  }
  await report({ report: 'appended', latenciesMs } satisfies ScaleReport);
  await engine.stop();
  await store.close();
}

async function letRunsWait(file: string, runs: number): Promise<void> {
  const { engine } = await openEngine(file);
  let waiting = 0;
  const allWait = new Promise<void>((resolve) => {
    engine.subscribe((message) => {
      if ('events' in message && message.events.some(({ type }) => type === 'APPROVAL_REQUESTED')) waiting += 1;
      if (waiting === runs) resolve();
    });
  });
  const all = [DAMAGED_RUN, ...ids('waiting', runs - 1)];
  await drive(all, 100, Infinity, async (id) => void (await engine.run(change.name, { id })));
  await allWait;
  await report({ report: 'waiting' } satisfies ScaleReport);
}

async function resumeRuns(file: string, runs: number): Promise<void> {
  const { engine, store } = await openEngine(file);
  await report({ report: 'ready' } satisfies ScaleReport);
  const approvedAt = performance.now();
  const approved = ids('waiting', Math.min(APPROVED, runs - 1));
  await Promise.all(
    approved.map(async (id) => {
      await engine.signal(id, 'APPROVAL_GRANTED', { by: 'the bench' });
      await engine.finished(id);
    }),
  );
  const approved100Ms = performance.now() - approvedAt;
  const damaged = await engine.view(DAMAGED_RUN);
  const waiting = await store.listOpenRuns('awaiting_approval');
  const listings: number[] = [];
  for (let listing = 0; listing < LISTINGS; listing++) {
    const from = performance.now();
    await store.listRuns({ limit: PAGE });
    listings.push(performance.now() - from);
  }
  await settleMemory();
  await report({
    report: 'resumed',
    waiting: waiting.length + approved.length,
    damagedIsParked: damaged.status === 'paused' && damaged.gate?.reason === 'poisoned',
    listMs: median(listings) ?? 0,
    rssMb: rssMb(),
    approved100Ms,
  } satisfies ScaleReport);
  await engine.stop();
  await store.close();
}
