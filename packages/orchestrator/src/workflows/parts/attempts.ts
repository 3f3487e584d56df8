/**
 * Attempts: the child runs of a workflow, each with a unit of its work. The loop keeps which are under way, which have ended, and which
 * one is being judged; the workflow decides what comes next, what a child run is asked for, and what its end means.
 */
import type { JsonValue } from '@autonomous/shared';
import { enqueueActions, type EventObject, type MachineContext } from 'xstate';
import type { ChildIntegrated, ChildMerged } from '../../activities/git/merge-child.ts';
import type { RunHeader } from '../../activities/types.ts';
import { isCancelledChild } from '../../core/cancelled-child.ts';
import type { ChildRequest, ChildResult } from '../../core/child-runs.ts';
import type { FailedAttempt } from './child-merge.ts';
import { type ChildEnd, type ChildEnded, endedActor, endOf, keptReason } from './children.ts';
import { changeOf } from './change.ts';
import { headerOf } from './run-context.ts';
import type { Rested } from './watch-children.ts';

type End = ChildEnd & {
  /** The child run has changed nothing. Absent: it has, or gave no result. */
  readonly isUntouched?: true;
};

/** An attempt whose child run has ended. */
export type EndedAttempt<Attempt> = Attempt & End;

/** The attempt that is being judged, with its merge once that is known. */
export type JudgedAttempt<Attempt> = EndedAttempt<Attempt> & { readonly integrated: ChildIntegrated | null };

/** Attempts as the context of a run keeps them. */
export interface Attempts<Attempt> {
  /** Attempts under way, by the id of their actor. */
  readonly open: Readonly<Record<string, Attempt>>;
  /** Attempts that have ended and are not looked at yet, in the order of their ends. */
  readonly ended: readonly EndedAttempt<Attempt>[];
  readonly judged: JudgedAttempt<Attempt> | null;
}

export const NO_ATTEMPTS = { open: {}, ended: [], judged: null } as const;

/** Gate of an attempt's child run that a person was told of. Absent: it has not waited. */
export type Waiting = { readonly waitsAt?: string };

/** Fields of the context that get a new value, and facts for the run's events. */
export interface Settled<Context, Fact> {
  readonly change: Partial<Context>;
  readonly facts: readonly Fact[];
}

/** An attempt as it begins. */
export interface Begun<Context, Attempt, Fact> extends Settled<Context, Fact> {
  readonly attempt: Attempt;
  readonly request: ChildRequest;
}

/** The end of an attempt. */
export type AttemptEnd =
  /** Its result is on the run's branch. */
  | { readonly kind: 'merged'; readonly merged: ChildMerged }
  /** It gave no result, or its result cannot be merged. */
  | ({
      readonly kind: 'failed';
      /** Somebody cancelled its child run, and does not want another one. Absent: it ended otherwise. */
      readonly isCancelled?: true;
    } & FailedAttempt)
  /** It has changed nothing. `why` and `hint` are as those of a failed attempt. */
  | ({ readonly kind: 'unchanged' } & FailedAttempt);

/** Decisions of a workflow about its attempts. All are pure functions. */
export interface AttemptDecisions<Context, Attempt, Unit, Fact, Output extends JsonValue = JsonValue> {
  /** Name of the actor of the machine that is a child run. */
  readonly child: string;
  /** Id of the actor that is an attempt's child run. */
  readonly actorOf: (attempt: Attempt) => string;
  /** The unit to begin now; `undefined`: none, or not now. */
  readonly next: (context: Context) => Unit | undefined;
  /** The attempt at a unit: what is kept of it, and what its child run is asked for. */
  readonly begin: (context: Context, unit: Unit) => Begun<Context, Attempt, Fact>;
  /** Fields of the attempt that the result of its child run gives. Default: none. */
  readonly kept?: (result: ChildResult<Output>) => Partial<Attempt>;
  /**
   * A person has to decide at the gate of an attempt. `keeps`: fields of the attempt that get a new value, by default none.
   * Needed where the machine watches its child runs.
   */
  readonly asked?: (
    attempt: Attempt,
    reason: string,
    rested: Rested,
  ) => { readonly fact: Fact; readonly keeps?: Partial<Attempt> };
  readonly settle: (context: Context, attempt: JudgedAttempt<Attempt>, end: AttemptEnd) => Settled<Context, Fact>;
  /** Where the context keeps attempts. Default: in the fields of {@link Attempts}. */
  readonly storage?: AttemptStorage<Context, Attempt>;
}

export interface AttemptStorage<Context, Attempt> {
  readonly read: (context: Context) => Attempts<Attempt>;
  readonly write: (change: Partial<Attempts<Attempt>>) => Partial<Context>;
}

interface Act<Context, Attempt, Fact> extends Settled<Context, Fact> {
  readonly attempts: Partial<Attempts<Attempt>>;
  /** Child run that begins. */
  readonly spawns?: { readonly id: string; readonly input: ChildRequest };
  /** Id of the actor whose child run is over, or to be stopped. */
  readonly stops?: string;
}

interface Untyped<Fact> {
  readonly spawnChild: (child: string, options: { readonly id: string; readonly input: ChildRequest }) => void;
  readonly emit: (fact: Fact) => void;
}

/** Actions of the loop over attempts. Its machine has the transitions `childEnds`. */
export function attemptActions<
  Context extends MachineContext,
  Event extends EventObject,
  Attempt extends Waiting,
  Unit,
  Fact extends EventObject,
  Output extends JsonValue = JsonValue,
>({
  child,
  actorOf,
  next,
  begin,
  kept,
  asked,
  settle,
  storage,
}: AttemptDecisions<Context, Attempt, Unit, Fact, Output>) {
  const { read, write } = storage ?? inOwnFields<Context, Attempt>();

  /** @param act the change of the context and what goes with it; `null`: nothing */
  const acting = <Params extends object | undefined>(
    act: (context: Context, params: Params) => Act<Context, Attempt, Fact> | null,
  ) =>
    enqueueActions<Context, Event, Params, Event, never, never, never, never, Fact>(({ enqueue, context }, params) => {
      const done = act(context, params);
      if (done === null) return;
      // Only the machine's setup knows the types of its actors and of its facts.
      const { spawnChild, emit } = enqueue as unknown as Untyped<Fact>;
      if (done.spawns !== undefined) spawnChild(child, done.spawns);
      enqueue.assign({ ...write(done.attempts), ...done.change });
      if (done.stops !== undefined) enqueue.stopChild(done.stops);
      for (const fact of done.facts) emit(fact);
    });

  const settling = <Params extends object | undefined>(
    endOf: (judged: JudgedAttempt<Attempt>, params: Params) => AttemptEnd,
  ) =>
    acting((context, params: Params) => {
      const { judged } = read(context);
      if (judged === null) return null;
      const end = endOf(judged, params);
      const { change, facts } = settle(context, judged, end);
      return { attempts: { judged: null }, change: { ...movedBy<Context>(end), ...change }, facts };
    });

  /** An actor that is no attempt's own changes nothing. */
  const ending = (context: Context, actor: string, end: End, kept?: Partial<Attempt>) => {
    const { open, ended } = read(context);
    const attempt = open[actor];
    if (attempt === undefined) return null;
    return {
      ...NOTHING,
      attempts: { open: without(open, actor), ended: [...ended, { ...attempt, ...kept, ...end }] },
      stops: actor,
    };
  };

  return {
    /** Begins the next unit, where there is one. */
    beginAttempt: acting<undefined>((context) => {
      const unit = next(context);
      if (unit === undefined) return null;
      const { attempt, request, change, facts } = begin(context, unit);
      const id = actorOf(attempt);
      return {
        attempts: { open: { ...read(context).open, [id]: attempt } },
        spawns: { id, input: request },
        change,
        facts,
      };
    }),
    /** A person has to decide at the gate of an attempt. */
    sayWaits: acting((context, { rested }: { rested: Rested }) => {
      const { open } = read(context);
      const attempt = open[rested.actor];
      if (attempt === undefined || asked === undefined) return null;
      const { fact, keeps } = asked(attempt, keptReason(rested.why), rested);
      const waiting = { ...attempt, waitsAt: rested.gate, ...keeps };
      return { attempts: { open: { ...open, [rested.actor]: waiting } }, change: {}, facts: [fact] };
    }),
    /** A child run has come to nothing. */
    endAttempt: acting((context, { rested }: { rested: Rested }) =>
      ending(context, rested.actor, {
        ...endOf(rested),
        ...(rested.kind === 'untouched' ? { isUntouched: true } : {}),
      }),
    ),
    /** A child run may end in any state, also while the run is paused. */
    keepChildEnd: acting((context, { type, result, error }: ChildEnded<Output>) =>
      ending(
        context,
        endedActor(type),
        { childId: result?.runId ?? null, error },
        result === null ? undefined : kept?.(result),
      ),
    ),
    /** The first attempt that has ended is judged. */
    takeEnded: acting<undefined>((context) => {
      const [first, ...ended] = read(context).ended;
      return first === undefined ? null : { ...NOTHING, attempts: { ended, judged: { ...first, integrated: null } } };
    }),
    keepChildMerge: acting((context, { integrated }: { integrated: ChildIntegrated }) => {
      const { judged } = read(context);
      return judged === null ? null : { ...NOTHING, attempts: { judged: { ...judged, integrated } } };
    }),
    failAttempt: settling((_, failed: FailedAttempt) => ({ kind: 'failed', ...failed })),
    /** The attempt has ended without a result. */
    failEnded: settling<undefined>((judged) =>
      judged.isUntouched === true
        ? { kind: 'unchanged', ...causeOf(judged) }
        : {
            kind: 'failed',
            ...causeOf(judged),
            ...(isCancelledChild(judged.error) ? { isCancelled: true } : {}),
          },
    ),
    /** Its result is the code that there was. */
    failUnchanged: settling<undefined>(() => ({ kind: 'unchanged', ...UNCHANGED })),
    passAttempt: settling((_, { merged }: { merged: ChildMerged }) => ({ kind: 'merged', merged })),
  };
}

/** A merge moves the run's branch. */
function movedBy<Context extends MachineContext>(end: AttemptEnd): Partial<Context> {
  if (end.kind !== 'merged') return {};
  const { commit: head, codeTree } = end.merged;
  return changeOf<Context, MachineContext>({ head, codeTree });
}

const causeOf = ({ error, hint }: ChildEnd): FailedAttempt => ({
  reason: 'agent_failed',
  why: error,
  ...(hint === undefined ? {} : { hint }),
});

const UNCHANGED: FailedAttempt = {
  reason: 'agent_failed',
  why: 'the agent changed no file',
  hint: 'the agent changed no file',
};

const NOTHING = { change: {}, facts: [] } as const;

/** Attempts in the fields of the context that have their names. */
export function inOwnFields<Context extends MachineContext, Attempt>(): AttemptStorage<Context, Attempt> {
  return {
    // The context of a machine that names no other storage has these fields.
    read: (context) => context as unknown as Attempts<Attempt>,
    write: (change) => changeOf<Context, MachineContext>(change),
  };
}

function without<Value>(record: Readonly<Record<string, Value>>, key: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
}

type Has<Context> = { readonly context: Context };
type Rest = { readonly event: { readonly output: Rested } };
const rested = ({ event }: Rest) => ({ rested: event.output });

interface Working<Context, Src, Next, OnError> {
  /** Activity of `watchChildren`; also the id of its invocation. */
  readonly src: Src;
  /** State that follows once a child run waits for a person or has come to nothing. */
  readonly next: Next;
  readonly onError: OnError;
  readonly storage?: Pick<AttemptStorage<Context, Waiting>, 'read'>;
}

/**
 * The state in which child runs are under way; `judging` follows once one has ended. One that comes to nothing is stopped; one that
 * waits for a person is left waiting.
 */
export function workingState<
  Context extends MachineContext & RunHeader,
  const Src extends string,
  const Next extends string,
  const OnError,
>({ src, next, onError, storage }: Working<Context, Src, Next, OnError>) {
  const { read } = storage ?? inOwnFields<Context, Waiting>();
  return {
    always: { guard: ({ context }: Has<Context>) => read(context).ended.length > 0, target: 'judging' },
    invoke: {
      id: src,
      src,
      input: ({ context }: Has<Context>) => ({
        ...headerOf(context),
        open: Object.entries(read(context).open).map(([actor, { waitsAt = null }]) => ({ actor, seen: waitsAt })),
      }),
      onDone: [
        {
          guard: ({ event }: Rest) => event.output.kind === 'asks',
          target: next,
          actions: { type: 'sayWaits', params: rested },
        },
        { target: next, actions: { type: 'endAttempt', params: rested } },
      ],
      onError,
    },
  } as const;
}

interface Judging<Context, Failed, Merging> {
  /** State after an attempt without a result. */
  readonly failed: Failed;
  readonly merging: Merging;
  readonly storage?: Pick<AttemptStorage<Context, Waiting>, 'read'>;
}

/** The state in which the first attempt that has ended is judged: one with a result is merged. */
export function judgingState<
  Context extends MachineContext & RunHeader,
  const Failed extends string,
  const Merging extends string,
>({ failed, merging, storage }: Judging<Context, Failed, Merging>) {
  const { read } = storage ?? inOwnFields<Context, Waiting>();
  return {
    entry: 'takeEnded',
    always: [
      {
        guard: ({ context }: Has<Context>) => (read(context).judged?.childId ?? null) === null,
        target: failed,
        actions: 'failEnded',
      },
      { target: merging },
    ],
  } as const;
}
