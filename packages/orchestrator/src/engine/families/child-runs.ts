/**
 * Child runs: starts the run that a parent's machine asks for, waits for its end, and cancels those for which no parent waits any
 * more. The id of a child follows from the key of the activation that asks for it, so that every attempt finds the same run.
 */
import {
  Conflict,
  InvalidRequest,
  type JsonObject,
  type JsonValue,
  type RunConfig,
  runConfigRequestSchema,
  type RunConfigRequest,
  type RunStart,
  type RunView,
  TerminalFailure,
  treeOf,
  Unprocessable,
} from '@autonomous/shared';
import { causeOfEnd } from '@autonomous/shared/presentation';
import type { Logger } from 'pino';
import { z } from 'zod';
import { allowedPathFault, MAX_ALLOWED_PATTERNS } from '../../path-rules/allowed-files.ts';
import { branchOfRun } from '../../documents/run-branch.ts';
import type { Activity, ActivityContext } from '../../core/activity.ts';
import { isFinal } from '../../core/advance.ts';
import { type ChildRequest, childrenOf } from '../../core/child-runs.ts';
import { ownedFilesOf, type WorkflowDefinition } from '../../core/definition.ts';
import type { WorkflowRegistry } from '../../core/registry.ts';
import { runIdOf } from '../../core/run-id.ts';
import type { RunState } from '../../core/run-state.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { requestedOfChild, withinLimitsAbove } from '../../run-config/child-config.ts';
import type { Clock } from '../clock.ts';
import { outcomeOfChild } from './child-outcome.ts';
import { topOf } from './top-run.ts';
import { isUnreleased } from '../rebuilt/rebuilt-pause.ts';

/** How many child runs there may be. */
export interface ChildLimits {
  /** Generations below a run that is not a child run. */
  readonly depth: number;
  /** Child runs in all below such a run. */
  readonly runs: number;
  /** Children of one run that run at the same time, at most as many as its `config.maxConcurrency`. */
  readonly atOnce: number;
}
export const CHILD_LIMITS: ChildLimits = { depth: 5, runs: 200, atOnce: 3 };

/** The configuration of a child run. */
export type ChildConfig = (parent: RunView, workflow: string, asked: RunConfigRequest) => RunConfig;

export interface ChildRunsOptions {
  readonly store: Pick<EventStore, 'listChildren' | 'loadView' | 'openKeys' | 'readRun'>;
  readonly workflows: WorkflowRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: ChildLimits;
  readonly configOf: ChildConfig;
  readonly launch: (runId: string, start: RunStart) => Promise<RunView>;
  readonly view: (runId: string) => Promise<RunView>;
  readonly finished: (runId: string) => Promise<RunView>;
  readonly inspect: (runId: string) => Promise<{ readonly state: RunState }>;
  /** @param cause why the run came to nothing, where its parent goes on without it */
  readonly cancel: (runId: string, by: string, reason: string, cause?: string) => Promise<unknown>;
  /** Pauses a run as its parent is paused. @param message what people read at its gate */
  readonly hold: (runId: string, message: string) => Promise<unknown>;
  /** Continues a run that a person paused. */
  readonly release: (runId: string, by: string) => Promise<unknown>;
  /** Whether a run is held back and must not be opened now. */
  readonly isHeld: (runId: string) => boolean;
}

/** Actor that the log names when a child is cancelled because its parent no longer waits for it. */
const SERVER = 'server';
/** Events with which a run ends. */
const ENDS: ReadonlySet<string> = new Set(['RUN_COMPLETED', 'RUN_FAILED', 'RUN_CANCELLED']);
/** Wait before children that could not be cancelled are looked at again. */
const CANCEL_AGAIN_MS = 2_000;

const allowedPattern = z.string().superRefine((pattern, context) => {
  const fault = allowedPathFault(pattern);
  if (fault !== null) context.addIssue(`'${pattern.slice(0, 100)}' is invalid: ${fault}`);
});

const childRequest = z.strictObject({
  request: z.string().trim().min(1),
  title: z.string().optional(),
  input: z.record(z.string(), z.json()).optional(),
  attempt: z.strictObject({ number: z.int().positive(), of: z.int().positive().optional() }).optional(),
  config: runConfigRequestSchema.optional(),
  allowedFiles: z
    .strictObject({
      changes: z.array(allowedPattern),
      newFiles: z.array(allowedPattern),
      forbidden: z.array(allowedPattern).optional(),
    })
    .refine(
      ({ changes, newFiles, forbidden = [] }) =>
        changes.length + newFiles.length + forbidden.length <= MAX_ALLOWED_PATTERNS,
      {
        message: `there are more than ${MAX_ALLOWED_PATTERNS} paths; use patterns such as 'src/*.ts'`,
      },
    )
    .optional(),
});

export class ChildRuns {
  readonly #options: ChildRunsOptions;
  /** By workflow: name of the actor → workflow of the child runs. */
  readonly #declared = new Map<string, ReadonlyMap<string, string>>();
  /** Settles with the last start: the runs below a root are counted and started one after the other. */
  #starting: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: ChildRunsOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
  }

  /** The workflow of the child runs that an actor of a workflow's machine stands for; `undefined` where it is an activity. */
  workflowOf(workflow: string, src: string): string | undefined {
    let declared = this.#declared.get(workflow);
    if (declared === undefined) {
      const { workflows } = this.#options;
      const versions = workflows.versions(workflow).flatMap((version) => workflows.find(workflow, version) ?? []);
      declared = new Map(versions.flatMap((definition) => [...childrenOf(definition)]));
      this.#declared.set(workflow, declared);
    }
    return declared.get(src);
  }

  /** The activity that carries out an actor which stands for child runs. */
  activityOf(workflow: string, src: string): Activity<JsonValue, JsonValue> | undefined {
    const child = this.workflowOf(workflow, src);
    if (child === undefined) return undefined;
    return {
      // Only the store of this server can fail here, so the start is tried until the parent leaves its state.
      retry: { attempts: 1_000, firstDelayMs: 1_000, maxDelayMs: 60_000 },
      onlyWaits: true,
      perform: (input, context) => this.#perform(child, input, context),
    };
  }

  async #perform(workflow: string, input: JsonValue, context: ActivityContext): Promise<JsonValue> {
    const { finished, store } = this.#options;
    const runId = runIdOf(context.key);
    const known = await store.loadView(runId);
    if (known === null) await this.#start(workflow, runId, input, context);
    else if (known.parent?.key !== context.key || known.parent.runId !== context.runId)
      throw new TerminalFailure(
        `The child run of ${context.activity} would have the id ${runId}, which another run has. Start the parent again.`,
      );
    else await this.#assertShown(known, context);
    const ended = await unlessAborted(finished(runId), context.signal);
    // The runner refuses an output that is not JSON.
    const outputOf = async (): Promise<JsonValue> =>
      ((await this.#options.inspect(runId)).state.snapshot?.output ?? null) as JsonValue;
    return outcomeOfChild(this.#options.store, ended, outputOf);
  }

  /**
   * Refuses the result of a record that no pause has shown. One that waits by itself is shown there; one that had ended in its record is shown
   * by its parent, where the record of that has the activation that waits for it.
   * @throws {TerminalFailure}
   */
  async #assertShown({ id, rebuiltUpTo, status }: RunView, { runId: parentId, key }: ActivityContext): Promise<void> {
    const { store, view } = this.#options;
    if (rebuiltUpTo === undefined || !isFinal(status)) return;
    if ((await store.readRun(id, rebuiltUpTo)).some(({ type }) => ENDS.has(type))) return;
    const shownUpTo = (await view(parentId)).rebuiltUpTo ?? 0;
    if (Number(key.split('/')[1]) < shownUpTo) return;
    throw new TerminalFailure(
      `The child run ${id} comes from a record in git and had ended there, before run ${parentId} asked for it here: nobody has seen what it brings, and it is not taken. Begin this work anew.`,
    );
  }

  /** @throws {TerminalFailure} naming what stands against it; nothing is made then */
  async #start(workflow: string, runId: string, input: JsonValue, context: ActivityContext): Promise<void> {
    const before = this.#starting;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#starting = promise;
    try {
      await before;
      context.signal.throwIfAborted();
      const start = await this.#startOf(workflow, runId, parsed(input, context), context);
      await this.#options.launch(runId, start).catch((error: unknown) => {
        if (!(error instanceof InvalidRequest || error instanceof Unprocessable)) throw error;
        throw new TerminalFailure(`No child run of workflow '${workflow}' could be started: ${error.message}`);
      });
    } finally {
      resolve();
    }
    // The parent may have gone on without it while it was being stored.
    if (context.signal.aborted) await this.cancelAbandoned(context.runId);
    await this.#holdWithParent(runId, context.runId);
  }

  /**
   * Pauses a run whose parent a person paused while the run was being stored: the pause did not find it, nor does a retry that
   * comes now.
   */
  async #holdWithParent(runId: string, parentId: string): Promise<void> {
    const { view, hold, release } = this.#options;
    const { gate } = await view(parentId);
    if (gate?.reason !== 'held') return;
    try {
      await hold(runId, gate.summary);
      if ((await view(parentId)).gate?.reason !== 'held') await release(runId, SERVER);
    } catch (error) {
      // It has ended, or somebody has continued it.
      if (!(error instanceof Conflict)) throw error;
    }
  }

  async #startOf(
    workflow: string,
    runId: string,
    asked: ChildRequest,
    { runId: parentId, key }: ActivityContext,
  ): Promise<RunStart> {
    const { workflows, configOf, limits, view } = this.#options;
    const parent = await view(parentId);
    const depth = (parent.parent?.depth ?? 0) + 1;
    if (depth > limits.depth)
      throw new TerminalFailure(
        `A child run of workflow '${workflow}' would be ${depth} generations below the first run, and ${limits.depth} are allowed. Do this work in the run itself, or start it as a run of its own.`,
      );
    const { id: root } = await topOf(this.#options.store, parent);
    if ((await this.#countBelow(root, limits.runs)) >= limits.runs)
      throw new TerminalFailure(
        `Run ${root} has ${limits.runs} child runs below it, which is the most that is allowed. Divide the work into fewer children, or into several runs.`,
      );
    const definition = workflows.latest(workflow);
    if (definition === undefined)
      throw new TerminalFailure(`There is no workflow '${workflow}' on this server any more. Register it, then retry.`);
    refuseWithoutProject(definition, parent);
    const requested = asked.config ?? {};
    const further = await this.#configsAbove(parent);
    const config = withinLimitsAbove(configOf(parent, workflow, requested), further);
    const { name, version, fingerprint } = definition;
    return {
      projectId: parent.projectId,
      userId: parent.userId,
      workflow: { name, version, fingerprint },
      request: asked.request,
      config,
      requestedConfig: requestedOfChild(config, [parent.config, ...further], requested),
      branch: parent.projectId === '' ? '' : branchOfRun(runId, asked.title ?? asked.request),
      parent: { runId: parentId, key, depth },
      treeId: treeOf(parent),
      ...(asked.input === undefined ? {} : { input: asked.input }),
      ...(asked.attempt === undefined ? {} : { attempt: asked.attempt }),
      ...ownedFilesOfChild(definition, parent, asked.input),
      ...allowedFilesOfChild(parent, asked),
    };
  }

  /** Configurations of the runs above a run, the nearest first. Each counts once, also where the parents of a record go round. */
  async #configsAbove(view: RunView): Promise<readonly RunConfig[]> {
    const configs: RunConfig[] = [];
    const visited = new Set([view.id]);
    let parent = view.parent;
    while (parent !== undefined && !visited.has(parent.runId)) {
      visited.add(parent.runId);
      // A parent that did not come back in a rebuild limits nothing.
      if ((await this.#options.store.loadView(parent.runId)) === null) break;
      const above = await this.#options.view(parent.runId);
      configs.push(above.config);
      parent = above.parent;
    }
    return configs;
  }

  /** @param enough where counting ends */
  async #countBelow(root: string, enough: number): Promise<number> {
    const parents = [root];
    let count = 0;
    for (let next = parents.shift(); next !== undefined && count < enough; next = parents.shift()) {
      const children = await this.#options.store.listChildren(next);
      count += children.length;
      parents.push(...children.map(({ id }) => id));
    }
    return count;
  }

  /**
   * Cancels open child runs whose parents no longer wait for them, because they have left the state or have ended.
   * @param parentId whose children; absent: those of all runs, without runs that are held back
   */
  async cancelAbandoned(parentId?: string): Promise<void> {
    const { store, clock, log, isHeld } = this.#options;
    try {
      for (const { id, status } of await store.listChildren(parentId)) {
        if (!isFinal(status) && !isHeld(id)) await this.cancelIfAbandoned(id, parentId !== undefined);
      }
    } catch (error) {
      if (this.#stopped) return;
      log.error({ err: error, runId: parentId }, 'child runs for which no run waits could not be cancelled');
      clock.after(CANCEL_AGAIN_MS, () => {
        if (!this.#stopped) void this.cancelAbandoned(parentId);
      });
    }
  }

  /**
   * Cancels a run that was started as a child and whose parent no longer waits for it; one whose parent was being paused when the
   * server ended is paused with it. Any other run stays as it is: of a parent that the store does not have, or whose record could not
   * be read, nobody knows whether it waits, and over a rebuilt run a person decides, at itself or by cancelling its parent.
   * @param isCancellation the parent has just ended here: its end is not of a record that others may have written
   */
  async cancelIfAbandoned(runId: string, isCancellation = false): Promise<void> {
    const { store, cancel } = this.#options;
    const child = await store.loadView(runId);
    if (!child?.parent || isFinal(child.status)) return;
    const { runId: parentId, key } = child.parent;
    const parent = await store.loadView(parentId);
    if (parent === null || (isUnread(parent.gate) && (await isUnreleased(store, parent)))) return;
    if ((await isUnreleased(store, child)) && !(isCancellation && parent.status === 'cancelled')) return;
    const { activities } = await store.openKeys(parentId);
    if (activities.includes(key)) {
      if (!isCancellation && isMissedByPause(child, parent)) await this.#holdWithParent(runId, parentId);
      return;
    }
    const what = isFinal(parent.status) ? `is ${parent.status}` : 'does not wait for it any more';
    const cause = isFinal(parent.status) ? undefined : causeOfEnd(child);
    await cancel(runId, SERVER, `run ${parentId}, which started it, ${what}`, cause);
  }
}

/** Whether a run is quarantined because its machine does not give its history again, or is not there. */
function isUnread(gate: RunView['gate']): boolean {
  return gate?.reason === 'poisoned' || gate?.reason === 'definition_missing';
}

/** Whether the server ended between the pause of a parent and that of its child, which no person has continued by itself since. */
function isMissedByPause({ gate, gates }: RunView, { gate: ofParent }: RunView): boolean {
  if (ofParent?.reason !== 'held' || gate?.reason === 'held') return false;
  return !gates.some(({ at }) => at > ofParent.openedAt);
}

function parsed(input: JsonValue, { activity }: ActivityContext): ChildRequest {
  const request = childRequest.safeParse(input);
  if (request.success) return request.data as ChildRequest; // zod's optional fields may be undefined, JSON's are not
  const faults = request.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
  throw new TerminalFailure(
    `The input of the child run '${activity}' is not a valid ChildRequest (${faults}). Correct the machine's input for it.`,
  );
}

/** Files that the runs above own are owned in the child too. @throws {TerminalFailure} */
function ownedFilesOfChild(
  definition: WorkflowDefinition,
  { ownedFiles: above }: RunView,
  input: JsonObject | undefined,
): Pick<RunStart, 'ownedFiles'> {
  const inherited = [...(above?.paths ?? []), ...(above?.inherited ?? [])];
  const paths = ownPaths(definition, input);
  if (paths.length + inherited.length === 0) return {};
  const further = inherited.length === 0 ? {} : { inherited: [...new Set(inherited)] };
  const { ownedResults } = definition;
  if (ownedResults === 'all') return { ownedFiles: { paths, ...further, to: 'branch', results: paths } };
  const { to = 'base', why, refused } = above ?? {};
  return {
    ownedFiles: {
      paths,
      ...further,
      ...(ownedResults === undefined ? {} : { results: ownedResults }),
      to,
      ...(why === undefined ? {} : { why }),
      ...(refused === undefined ? {} : { refused }),
    },
  };
}

/** A child changes no file that a run above it may not change. */
function allowedFilesOfChild(
  { allowedFiles: above = [] }: RunView,
  { allowedFiles: asked }: ChildRequest,
): Pick<RunStart, 'allowedFiles'> {
  const allowedFiles = asked === undefined ? above : [...above, asked];
  return allowedFiles.length === 0 ? {} : { allowedFiles };
}

function ownPaths(definition: WorkflowDefinition, input: JsonObject | undefined): readonly string[] {
  try {
    return ownedFilesOf(definition, input);
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    throw new TerminalFailure(`No child run could be started: ${error.message}`, { cause: error });
  }
}

function refuseWithoutProject({ name, needsProject }: WorkflowDefinition, { id, projectId }: RunView): void {
  if (needsProject !== true || projectId !== '') return;
  throw new TerminalFailure(
    `A child run of workflow '${name}' needs a project, and run ${id} has none. Start the parent for a project.`,
  );
}

/** @throws the reason of the signal as soon as it is aborted */
function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
