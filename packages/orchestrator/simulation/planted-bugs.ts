/**
 * Bugs that the simulation has to find, each planted without a change of any file: around a port of the engine, or in
 * the text of a source as it is loaded. A bug that goes unnoticed is a hole in the simulation.
 */
import type { JsonValue } from '@autonomous/shared';
import type { EventStore, RunCommit } from '../src/event-store/event-store.ts';
import type { Activity, ActivityRegistry } from '../src/core/activity.ts';
import type { GitCheck } from './git-checks.ts';
import type { Invariant } from './invariants.ts';
import type { Replacement } from './planted-source.ts';
import { type Plants, withMethods } from './plants.ts';
import type { StoreCheck } from './store-checks.ts';

export interface PlantedBug {
  readonly name: string;
  /** What is wrong, as a sentence. */
  readonly what: string;
  /** What the simulation says when it finds it. More than one where the schedule decides which comes first. */
  readonly caughtBy: readonly Invariant[];
  readonly plants?: Plants;
  readonly source?: readonly Replacement[];
  /** First schedule to play of a bug that few schedules find. Where schedules change, it is found by a later one. */
  readonly seed?: number;
}

const ENGINE = 'engine/engine.ts';
const STEPS = 'engine/run-steps.ts';
const COMMITS = 'engine/run-commit.ts';
const RUNNER = 'engine/runner/activity-runner.ts';
const CHILDREN = 'engine/families/child-runs.ts';

export const plantedBugs: readonly PlantedBug[] = [
  // ---- around the ports
  {
    name: 'intent-dropped',
    what: 'A step does not store the activities that it starts.',
    caughtBy: ['replay', 'start', 'late', 'alive'],
    plants: { store: changingCommits(() => ({ startActivities: [] })) },
  },
  {
    name: 'recorded-before-performed',
    what: 'An activity is recorded as done before it is.',
    caughtBy: ['done', 'calls'],
    plants: { activities: changingActivities((activity) => ({ ...activity, perform: doneAtOnce(activity) })) },
  },
  {
    name: 'effect-not-looked-for',
    what: 'An activity is performed without a look for what an earlier attempt of it did.',
    caughtBy: ['effects'],
    plants: { activities: changingActivities(({ find: _find, ...activity }) => activity) },
  },
  {
    name: 'fence-forgotten',
    what: 'A server that was replaced goes on writing and performing.',
    caughtBy: ['calls', 'effects', 'places', 'refusals', 'start', 'late', 'timers', 'alive', 'gate', 'launch'],
    plants: { hasNoFence: true },
  },
  {
    name: 'attempt-forgotten',
    what: 'The attempts of an activity are not booked.',
    caughtBy: ['calls'],
    plants: { store: (store) => withMethods(store, () => ({ updateAttempt: () => Promise.resolve() })) },
  },
  {
    name: 'answered-before-the-commit',
    what: 'A step is said to be on disk when it is only on its way.',
    caughtBy: ['feed', 'start', 'acknowledged'],
    plants: { store: answeringAtOnce },
  },
  {
    name: 'timers-armed-from-now',
    what: 'A run that gets its place back has its timers armed anew instead of moved by its wait.',
    caughtBy: ['timers'],
    plants: {
      store: (store, clock) =>
        changingCommits(({ events, setTimers }) =>
          events[0]?.type === 'RUN_ADMITTED'
            ? {
                setTimers: setTimers.map((timer) => ({
                  ...timer,
                  dueAt: new Date(clock.now().getTime() + 60_000).toISOString(),
                })),
              }
            : {},
        )(store),
    },
  },
  {
    name: 'overdue-timers-lost',
    what: 'What became due while the server was down never fires.',
    caughtBy: ['alive'],
    plants: {
      store: (store, clock) =>
        withMethods(store, (real) => ({
          dueTimers: async (now) =>
            (await real.dueTimers(now)).filter((timer) => Date.parse(timer.dueAt) > clock.now().getTime() - 2_000),
        })),
    },
  },
  {
    name: 'cancel-leaves-activities',
    what: 'A cancelled run keeps its activities.',
    caughtBy: ['ended', 'replay'],
    plants: {
      store: changingCommits(({ events }) =>
        events.some(({ type }) => type === 'RUN_CANCELLED') ? { endActivities: [] } : {},
      ),
    },
  },
  {
    name: 'timers-kept',
    what: 'A state that is left keeps its timers.',
    caughtBy: ['ended', 'replay', 'late', 'alive'],
    plants: { store: changingCommits(() => ({ clearTimers: [] })) },
  },
  {
    name: 'request-forgotten',
    what: 'A step is stored without the key of the request that asked for it.',
    caughtBy: ['unique', 'refusals', 'gate', 'acknowledged'],
    seed: 1480,
    plants: {
      store: (store) =>
        withMethods(store, (real) => ({ append: ({ request: _request, ...commit }) => real.append(commit) })),
    },
  },

  // ---- in the sources
  {
    name: 'published-before-the-commit',
    what: 'Listeners hear of a step before it is on disk.',
    caughtBy: ['feed'],
    source: [
      {
        file: STEPS,
        find: '    const appended = store.append(commit);',
        replace: `    feed.publish({ events: commit.events.map((event, index) => ({ ...event, id: '', workflowRunId: runId, position: 2 ** 40 + index, sequence: commit.expectedSequence + index + 1 })), view: commit.view });
    const appended = store.append(commit);`,
      },
    ],
  },
  {
    name: 'started-before-the-commit',
    what: 'Activities begin before the step that starts them is on disk.',
    caughtBy: ['start'],
    source: [
      {
        file: STEPS,
        find: '    const appended = store.append(commit);',
        replace: '    this.#startPendingWork(run, before, input, commit);\n    const appended = store.append(commit);',
      },
    ],
  },
  {
    name: 'uncommitted-view-published',
    what: 'Listeners and commands get a view that is ahead of the disk.',
    caughtBy: ['view', 'acknowledged'],
    source: [
      {
        file: STEPS,
        find: '    run.committed = commit.view;\n    const view = admission.withPosition(commit.view);',
        replace: '    run.committed = run.view;\n    const view = admission.withPosition(run.view);',
      },
    ],
  },
  {
    name: 'late-outcomes-taken',
    what: 'The outcome of an activation that is over counts for its successor.',
    caughtBy: ['late', 'done', 'alive', 'replay'],
    source: [
      {
        file: STEPS,
        find: 'if (state.activities[payload.activity] !== payload.key) return null;',
        replace: "if (payload.key === '') return null;",
      },
      {
        file: 'core/advance.ts',
        find: "if (state.activities[activity] !== input.payload['key']) return { ok: false, reason: 'late' };",
        replace: '',
      },
    ],
  },
  {
    name: 'place-leaked',
    what: 'A launch that cannot be stored keeps its place.',
    caughtBy: ['places', 'alive'],
    seed: 302,
    source: [
      {
        file: 'engine/admission/run-admission.ts',
        find: '    else {\n      slots.release(userId, runId);\n      void this.admit(userId);\n    }\n',
        replace: '',
      },
    ],
  },
  {
    name: 'places-unlimited',
    what: 'There is always room for one more run.',
    caughtBy: ['places'],
    source: [
      {
        file: 'engine/admission/run-slots.ts',
        find: 'return this.#of(userId).size < this.#limit;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'admission-forgotten',
    what: 'A place that becomes free is given to nobody.',
    caughtBy: ['alive'],
    source: [
      {
        file: 'engine/admission/run-admission.ts',
        find: 'this.#options.slots.release(userId, state.runId);\n    void this.admit(userId);',
        replace: 'this.#options.slots.release(userId, state.runId);',
      },
    ],
  },
  {
    name: 'stale-state-kept',
    what: 'After a step that could not be stored the state in memory stays ahead of the disk.',
    caughtBy: ['alive', 'refusals', 'acknowledged', 'launch', 'view'],
    source: [
      {
        file: STEPS,
        find: '    live.remove(runId);\n    const status = run.committed?.status;',
        replace: '    const status = run.committed?.status;',
      },
    ],
  },
  {
    name: 'outcome-dropped',
    what: 'An outcome that finds the disk full is thrown away.',
    caughtBy: ['alive'],
    seed: 202,
    source: [
      { file: RUNNER, find: '        await this.#sleep(STORE_RETRY_MS, running);', replace: '        return false;' },
    ],
  },
  {
    name: 'snapshot-of-another-state',
    what: 'A snapshot is of a state that its step did not store.',
    caughtBy: ['replay', 'alive', 'late', 'refusals'],
    source: [
      { file: COMMITS, find: 'const SNAPSHOT_EVERY_EVENTS = 50;', replace: 'const SNAPSHOT_EVERY_EVENTS = 5;' },
      {
        file: COMMITS,
        find: 'const snapshot = dehydrate(run.definition.machine, run.state);',
        replace:
          'const snapshot = dehydrate(run.definition.machine, { ...run.state, sequence: run.state.sequence + 1 });',
      },
    ],
  },
  {
    name: 'request-not-looked-for',
    what: 'What a request did before a crash is not looked for when it is sent again.',
    caughtBy: ['refusals', 'unique', 'gate'],
    source: [
      {
        file: 'engine/admission/request-deduplication.ts',
        find: '      if (done === null) return await work();',
        replace: '      if (done === null || done.runId !== key) return await work();',
      },
    ],
  },
  {
    name: 'answered-as-it-is-now',
    what: 'A request that is sent again is answered with the run as it is now, not as it was after its step.',
    caughtBy: ['acknowledged'],
    source: [
      {
        file: 'engine/admission/request-deduplication.ts',
        find: 'if (done.requestHash === hash) return await this.#viewAfter(done);',
        replace: 'if (done.requestHash === hash) return await this.#options.view(done.runId);',
      },
    ],
  },
  {
    name: 'state-as-the-machine-left-it',
    what: 'The next step is taken from the state as the machine left it, not as reopening the run gives it.',
    caughtBy: ['replay', 'alive', 'refusals', 'late', 'acknowledged'],
    source: [
      { file: COMMITS, find: 'const SNAPSHOT_EVERY_EVENTS = 50;', replace: 'const SNAPSHOT_EVERY_EVENTS = 5;' },
      {
        file: 'core/advance.ts',
        find: 'const snapshot = asReopened(machine, made, context.value);',
        replace: 'const snapshot = made;',
      },
    ],
  },
  {
    name: 'launch-not-idempotent',
    what: 'A launch that is repeated is taken for a new run.',
    caughtBy: ['launch'],
    source: [{ file: ENGINE, find: '    if (existing) return existing;\n', replace: '' }],
  },
  {
    name: 'launches-apart',
    what: 'The same launch that comes twice at the same time is made twice.',
    caughtBy: ['launch', 'places'],
    source: [
      {
        file: ENGINE,
        find: 'let launching = this.#launching.get(runId);',
        replace: 'let launching: Promise<RunView> | undefined;',
      },
    ],
  },
  {
    name: 'stale-decision-taken',
    what: 'A decision counts for whichever gate is open.',
    caughtBy: ['gate'],
    source: [
      {
        file: 'engine/admission/shown-gate.ts',
        find: 'if (gateId === undefined || view.gate?.id === gateId) return null;',
        replace: 'if (gateId !== "") return null;',
      },
    ],
  },
  {
    name: 'quarantined-run-continues',
    what: 'The activities of a run that is quarantined go on.',
    caughtBy: ['start', 'calls'],
    seed: 617,
    source: [{ file: 'engine/quarantine.ts', find: '    runner.cancelAll(runId);\n', replace: '' }],
  },
  {
    name: 'savepoint-forgotten',
    what: 'A step that fails half-way leaves what it had written.',
    caughtBy: ['unique', 'alive', 'refusals', 'view'],
    source: [
      {
        file: 'event-store/sqlite/writer/group-commit.ts',
        find: '        this.#statements.rollBackTo.run();\n        this.#statements.release.run();',
        replace: '        this.#statements.release.run();',
      },
    ],
  },
  {
    name: 'neighbours-taken-down',
    what: 'A step that fails takes down those that share its commit.',
    caughtBy: ['refusals'],
    source: [
      {
        file: 'event-store/sqlite/writer/group-commit.ts',
        find: '          this.#rollBack();\n          return null;',
        replace: '          this.#rollBack();\n          return writes.map(() => ({ ok: false, error }));',
      },
    ],
  },
  {
    name: 'undone-write-remembered',
    what: 'The writer remembers of a run what was undone.',
    caughtBy: ['unique', 'refusals', 'chain', 'feed', 'acknowledged', 'alive', 'view'],
    source: [
      {
        file: 'event-store/sqlite/writer/group-commit.ts',
        find: '        this.#statements.release.run();\n      }\n      forget();',
        replace: '        this.#statements.release.run();\n      }',
      },
      {
        file: 'event-store/sqlite/writer/group-commit.ts',
        find: '    const { connection, forget } = this.#options;\n    forget();\n',
        replace: '    const { connection } = this.#options;\n',
      },
    ],
  },
  // ---- child runs
  {
    name: 'children-left-alone',
    what: 'Child runs for which nobody waits go on.',
    caughtBy: ['children', 'alive'],
    source: [
      {
        file: CHILDREN,
        find: '        if (!isFinal(status) && !isHeld(id)) await this.cancelIfAbandoned(id, parentId !== undefined);',
        replace: '        isHeld(id + status);',
      },
    ],
  },
  {
    name: 'children-left-by-a-crash',
    what: 'A new server does not look for child runs that the last one should have cancelled.',
    caughtBy: ['children', 'alive'],
    seed: 626,
    source: [
      {
        file: CHILDREN,
        find: '      for (const { id, status } of await store.listChildren(parentId)) {',
        replace:
          '      for (const { id, status } of parentId === undefined ? [] : await store.listChildren(parentId)) {',
      },
    ],
  },
  {
    name: 'any-end-of-a-child-is-good',
    what: 'A child that was cancelled is told as completed.',
    caughtBy: ['children'],
    seed: 496,
    source: [
      {
        file: 'engine/families/child-outcome.ts',
        find: "  if (status !== 'completed')\n",
        replace: "  if (status === 'paused')\n",
      },
    ],
  },
  {
    name: 'child-of-an-attempt',
    what: 'Each attempt starts a child of its own.',
    caughtBy: ['children'],
    source: [
      {
        file: CHILDREN,
        find: 'const runId = runIdOf(context.key);',
        replace: 'const runId = runIdOf(`${context.key}/${Math.random()}`);',
      },
    ],
  },
  {
    name: 'all-children-at-once',
    what: 'All children of a run start at once.',
    caughtBy: ['children'],
    source: [
      {
        file: RUNNER,
        find: 'isChild ? Math.min(maxConcurrency, this.#options.childrenAtOnce) : maxConcurrency',
        replace: 'isChild ? Infinity : maxConcurrency',
      },
    ],
  },
  {
    name: 'waiting-parent-holds-its-slot',
    what: 'A parent that waits for its children keeps its run slot.',
    caughtBy: ['alive'],
    source: [{ file: 'core/child-runs.ts', find: 'return isWaiting ? {', replace: 'return isWaiting && open > 9 ? {' }],
  },
];

/** Bugs in shared parts of workflows: no schedule shows them, the replay of golden histories does. */
export const plantedPartBugs: readonly Required<Pick<PlantedBug, 'name' | 'what' | 'source'>>[] = [
  {
    name: 'pausing',
    what: 'A pause that a provider ends resumes by itself once more than it may.',
    source: [
      {
        file: 'workflows/parts/pausing.ts',
        find: 'if (resumedByItself >= MOST_RESUMES)',
        replace: 'if (resumedByItself > MOST_RESUMES)',
      },
    ],
  },
  {
    name: 'whole-check',
    what: 'A result whose checks fail with the tests of the base is no failure.',
    source: [
      {
        file: 'workflows/parts/whole-check.ts',
        find: 'failure: event.output.passed\n',
        replace: 'failure: true\n',
      },
    ],
  },
  {
    name: 'children',
    what: 'A child run that has failed gives the next attempt no reason.',
    source: [
      {
        file: 'workflows/parts/children.ts',
        find: 'error: messageOf(event.error),',
        replace: "error: '',",
      },
    ],
  },
  {
    name: 'publishing',
    what: 'A run whose branch is left as the result is merged.',
    source: [
      {
        file: 'workflows/parts/publishing.ts',
        find: ' && context.leftAsBranch !== true,',
        replace: ',',
      },
    ],
  },
];

/** Bugs of the store that no schedule shows: a check of their own sees them. */
export const plantedStoreBugs: readonly {
  readonly name: string;
  readonly what: string;
  readonly seenBy: StoreCheck;
  readonly source: readonly Replacement[];
}[] = [
  {
    name: 'chain-check-skipped',
    what: 'The events of a run are not compared with their hashes.',
    seenBy: 'damage',
    source: [
      {
        file: 'event-store/hash-chain.ts',
        find: 'if (payload === null || sha256(payload) === payloadHash) continue;',
        replace: 'continue;',
      },
    ],
  },
  {
    name: 'epoch-forgotten',
    what: 'A server that was replaced still writes.',
    seenBy: 'replacement',
    source: [
      {
        file: 'event-store/sqlite/writer/sqlite-writer.ts',
        find: '    if (current === String(this.#epoch)) {',
        replace: '    if (current !== null) {',
      },
    ],
  },
  {
    name: 'record-not-compared',
    what: 'A database that went another way is taken for the continuation of its record.',
    seenBy: 'olderDatabase',
    source: [
      {
        file: 'record/record-check.ts',
        find: '  if (own?.hash === recorded.hash) return null;',
        replace: '  return null;',
      },
    ],
  },
  {
    name: 'record-overwritten',
    what: 'What the remote has beyond the mirror is written over.',
    seenBy: 'olderFolder',
    source: [
      {
        file: 'repository/git/record-branch.ts',
        find: '    ...changes.filter((edit) => !kept.has(pathOf(edit))),',
        replace: '    ...changes,',
      },
    ],
  },
  {
    name: 'retried-behind-git',
    what: 'A run of which git knows more is retried.',
    seenBy: 'retryBehindGit',
    source: [
      {
        file: 'engine/quarantine.ts',
        find: '    await this.refuseBehind(view);\n    const fault = await this.#options.store.verifyRun(view.id);',
        replace: '    const fault = await this.#options.store.verifyRun(view.id);',
      },
    ],
  },
  {
    name: 'lost-file-written',
    what: 'Steps are acknowledged that went into a file which was removed.',
    seenBy: 'lostFile',
    source: [
      {
        file: 'event-store/sqlite/writer/group-commit.ts',
        find: '    this.#options.afterCommit?.();',
        replace: '',
      },
    ],
  },
];

/** Bugs of what activities do to git, which the simulated outside does not have: a check on real repositories sees them. */
export const plantedGitBugs: readonly {
  readonly name: string;
  readonly what: string;
  readonly seenBy: GitCheck;
  readonly source: readonly Replacement[];
}[] = [
  {
    name: 'committed-on-the-left-over',
    what: 'A commit goes on top of wherever the branch is, with the tree of another commit.',
    seenBy: 'killed',
    source: [
      {
        file: 'activities/git/commits.ts',
        find: '        parent: head,\n        ...(leftOver === null ? {} : { replaces: leftOver }),',
        replace: '        parent: leftOver ?? head,',
      },
      {
        // As it was, nothing else would notice.
        file: 'activities/git/merge-into-base.ts',
        find: '      await assertOwnChanges(tools, { ...input, project });\n',
        replace: '',
      },
    ],
  },
  {
    name: 'left-over-in-the-way',
    what: 'What a killed attempt left on the branch is not put back.',
    seenBy: 'killed',
    source: [
      {
        file: 'activities/git/commits.ts',
        find: '        ...(leftOver === null ? {} : { replaces: leftOver }),\n',
        replace: '',
      },
    ],
  },
  {
    name: 'base-not-contained',
    what: 'A result is merged onto a base that it does not contain.',
    seenBy: 'killed',
    source: [
      {
        file: 'activities/git/integrate-base.ts',
        find: '      if (base === input.baseCommit) return { moved: false };\n',
        replace: "      if (base !== '') return { moved: false };\n",
      },
    ],
  },
  {
    name: 'change-not-asserted',
    what: 'A merge brings whatever is on the branch.',
    seenBy: 'asserted',
    source: [
      {
        file: 'activities/git/merge-into-base.ts',
        find: '      await assertOwnChanges(tools, { ...input, project });\n',
        replace: '',
      },
    ],
  },
];

/** Steps are stored otherwise than the engine says. */
function changingCommits(change: (commit: RunCommit) => Partial<RunCommit>): (store: EventStore) => EventStore {
  return (store) =>
    withMethods(store, (real) => ({ append: (commit) => real.append({ ...commit, ...change(commit) }) }));
}

function changingActivities(
  change: (activity: Activity) => Activity,
): (activities: ActivityRegistry) => ActivityRegistry {
  return (activities) =>
    Object.fromEntries(Object.entries(activities).map(([src, activity]) => [src, change(activity)]));
}

function doneAtOnce(activity: Activity): Activity['perform'] {
  return (input, context): Promise<JsonValue> => {
    activity.perform(input, context).catch(() => undefined);
    return Promise.resolve({ value: 1 });
  };
}

/** The events are made up: where they will be in the log is only known after the commit. */
function answeringAtOnce(store: EventStore): EventStore {
  return withMethods(store, (real) => ({
    append(commit) {
      real.append(commit).catch(() => undefined);
      return Promise.resolve(
        commit.events.map((event, index) => {
          const sequence = commit.expectedSequence + index + 1;
          return {
            ...event,
            id: `${commit.runId}.${sequence}`,
            position: 2 ** 40 + index,
            workflowRunId: commit.runId,
            sequence,
          };
        }),
      );
    },
  }));
}
