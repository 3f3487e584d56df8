/** Runs as they were: the view and the statechart after an event, and new runs that go on from there. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Caller,
  Conflict,
  foldRun,
  type GateDecision,
  InvalidRequest,
  type NewFork,
  NotFound,
  type Project,
  type ProjectConfig,
  type RunConfig,
  type RunConfigRequest,
  type RunView,
  SETUP_ROLE,
  type Statechart,
  TREE_BUDGET_NAMES,
  type TreeBudgets,
  type WorkflowEvent,
} from '@autonomous/shared';
import { branchOfRun } from '../documents/run-branch.ts';
import type { Engine } from '../engine/engine.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Repository } from '../repository/repository.ts';
import { newRun, rehydrate } from '../core/advance.ts';
import type { RunState } from '../core/run-state.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import { diagramOfRun, pathOf, possibleEvents } from '../core/diagram.ts';
import { type ForkedRun, throughStep } from '../core/fork.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import { replay } from '../core/replay.ts';
import { runIdOf } from '../core/run-id.ts';
import type { RunConfigPolicy } from '../run-config/run-config-policy.ts';
import { readProjectConfig } from '../run-config/project-config.ts';
import { requestedConfigOf, mergeRunConfigRequests } from '../run-config/run-config.ts';
import type { GateDecisions } from './decisions/gate-decisions.ts';
import type { Projects } from './projects.ts';
import { newRunId } from './run-ids.ts';
import type { RunLauncher } from './launch/run-launcher.ts';

export interface TimeTravelOptions {
  readonly engine: Pick<Engine, 'fork' | 'inspect' | 'tree' | 'view'>;
  readonly store: Pick<EventStore, 'loadRun' | 'loadView' | 'readRun'>;
  readonly repository: Pick<Repository, 'createBranch' | 'readFile'>;
  readonly workflows: Pick<WorkflowRegistry, 'find'>;
  /** Takes known secrets and token patterns out of text. */
  readonly scrub: (text: string) => string;
  readonly runConfig: Pick<RunConfigPolicy, 'resolve'>;
  readonly launcher: Pick<RunLauncher, 'beginFork' | 'checkConfig' | 'refuseRecorded' | 'refuseUnusableModels'>;
  readonly projects: Pick<Projects, 'of'>;
  readonly decisions: Pick<GateDecisions, 'signalFor'>;
}

/** Events that are read at once. */
const PAGE = 500;

export class TimeTravel {
  readonly #options: TimeTravelOptions;

  constructor(options: TimeTravelOptions) {
    this.#options = options;
  }

  /** The run's events up to the end of the step that holds event `at`. */
  async #eventsThrough(runId: string, at: number): Promise<readonly WorkflowEvent[]> {
    const { lastSequence } = await this.#options.engine.view(runId);
    if (at > lastSequence) {
      throw new NotFound(`Run ${runId} has no event ${at}; its events are 1 to ${lastSequence}.`);
    }
    const events: WorkflowEvent[] = [];
    for (;;) {
      const page = await this.#options.store.readRun(runId, events.at(-1)?.sequence ?? 0, PAGE);
      for (const event of page) events.push(event);
      const isPast = page.some((event) => event.sequence > at && event.origin === 'input');
      if (page.length < PAGE || isPast) return throughStep(events, at);
      // Others have a turn between the pages of a long history.
      await nextTurn();
    }
  }

  /** The view of a run after one of its events. @throws {NotFound} naming the range when the run has no such event */
  async viewAt(runId: string, at: number): Promise<RunView> {
    return foldWhole((await this.#eventsThrough(runId, at)).filter((event) => event.sequence <= at));
  }

  /** Where a run is or was in its statechart. @throws {NotFound} naming the range when the run has no such event */
  async statechart(runId: string, at?: number): Promise<Statechart> {
    const now = await this.#options.engine.view(runId);
    const events = await this.#eventsThrough(runId, at ?? now.lastSequence);
    const view = at === undefined ? now : await foldWhole(events);
    const definition = this.#definitionOf(view);
    const state = await this.#stateAfter(events, definition, at === undefined ? runId : null);
    const way = pathOf(definition, events);
    return {
      workflow: definition.name,
      version: definition.version,
      sequence: view.lastSequence,
      mermaid: diagramOfRun(definition, view.state, way),
      current: view.state,
      path: way.path,
      changes: way.changes,
      possible: possibleEvents(definition, state, view),
    };
  }

  /**
   * The machine's state after these events; `null` where it cannot be read.
   * @param live the run whose newest state this is; `null` for an older one
   */
  async #stateAfter(
    events: readonly WorkflowEvent[],
    { name }: WorkflowDefinition,
    live: string | null,
  ): Promise<RunState | null> {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last) return null;
    if (live !== null) {
      return this.#options.engine.inspect(live).then(
        ({ state }) => state,
        () => null,
      );
    }
    const versions = (version: number) => this.#options.workflows.find(name, version);
    const snapshot = (await this.#options.store.loadRun(first.workflowRunId))?.snapshot ?? null;
    const isUsable = snapshot !== null && snapshot.sequence <= last.sequence;
    const before = isUsable ? events.filter((event) => event.sequence <= snapshot.sequence) : [first];
    const start = versions((await foldWhole(before)).workflow.version);
    if (!start) return null;
    try {
      const from = isUsable ? rehydrate(start.machine, snapshot.data) : newRun(first.workflowRunId);
      const rest = events.filter((event) => event.sequence > from.sequence);
      return await replayInTurns(start, from, rest, versions);
    } catch {
      // A snapshot that its machine cannot read: what can happen next is not known then.
      return null;
    }
  }

  #definitionOf({ id, workflow }: RunView): WorkflowDefinition {
    const definition = this.#options.workflows.find(workflow.name, workflow.version);
    if (definition) return definition;
    throw new Conflict(
      `Workflow '${workflow.name}' version ${workflow.version} of run ${id} is not registered on this server.`,
    );
  }

  /**
   * Starts a run that goes on where another was after one of its events. The same key gives the same run.
   * @throws {InvalidRequest} with every fault of what is asked for @throws {Conflict} where it cannot be forked there
   */
  async fork(caller: Caller, sourceId: string, wanted: NewFork, key?: string): Promise<RunView> {
    const runId = key === undefined ? newRunId() : runIdOf(`${key}/fork`);
    const existing = await this.#options.store.loadView(runId);
    if (existing) return existing;
    const source = await this.#options.engine.view(sourceId);
    const { lastSequence } = source;
    if (wanted.at > lastSequence) {
      const message = `must be an event of run ${sourceId}, whose events are 1 to ${lastSequence}`;
      throw new InvalidRequest(`The request's body cannot be taken: at: ${message}.`, {
        faults: [{ path: 'at', message }],
      });
    }
    const events = await this.#eventsThrough(sourceId, wanted.at);
    const view = await foldWhole(events);
    const definition = this.#definitionOf(view);
    const project = view.projectId === '' ? null : await this.#options.projects.of(view.projectId);
    if (project !== null) await this.#options.launcher.refuseRecorded(project, runId);
    const change = await this.#changeOf(
      view,
      (await this.#options.engine.tree(sourceId)).budgets,
      events,
      wanted.config,
      project,
    );
    const request = wanted.request === undefined ? undefined : this.#options.scrub(wanted.request.trim());
    const branch = project === null ? '' : branchOfRun(runId, request ?? view.originalRequest);
    const { answer } = wanted;
    const signal = answer === undefined ? undefined : await this.#answerTo(caller, view, runId, answer);
    const begin = (): Promise<RunView> =>
      this.#options.engine.fork(runId, sourceId, {
        at: wanted.at,
        by: caller.userId,
        branch,
        ...(request === undefined ? {} : { request }),
        ...change,
        ...(signal === undefined ? {} : { signal }),
        once: caller.request,
        prepare: async (run) => {
          const commit = commitOf(run, view);
          if (project !== null && commit !== null) await this.#options.repository.createBranch(project, branch, commit);
        },
      });
    return this.#options.launcher.beginFork(definition, runId, view, begin);
  }

  /** The decision as a signal to the gate that the new run has where the source had its own. */
  async #answerTo(caller: Caller, view: RunView, runId: string, answer: GateDecision) {
    if (view.gate === null) {
      throw new Conflict(
        `Run ${view.id} had no open gate after event ${view.lastSequence} that could take '${answer.decision}'; it was ${view.status}.`,
      );
    }
    const gate = { ...view.gate, runId, id: `${runId}${view.gate.id.slice(view.id.length)}` };
    if (answer.gateId !== undefined && answer.gateId !== view.gate.id) {
      throw new Conflict(
        `Run ${view.id} had gate ${view.gate.id} open after event ${view.lastSequence}, and the answer is of gate ${answer.gateId}: look at it again.`,
      );
    }
    const { artifactHash, codeTree, concernsHash } = answer;
    const signal = await this.#options.decisions.signalFor(caller, view, gate, answer);
    return { ...signal, gateId: gate.id, artifactHash, codeTree, concernsHash };
  }

  /**
   * Returns a fork's changed configuration: the run's own merged with the requested one, within the present limits. The
   * family budgets are the present ones.
   * @throws {InvalidRequest} with every fault of the request
   */
  async #changeOf(
    view: RunView,
    ofTree: TreeBudgets,
    events: readonly WorkflowEvent[],
    asked: RunConfigRequest | undefined,
    project: Project | null,
  ) {
    const faults = asked === undefined ? [] : [...this.#options.launcher.checkConfig(view.workflow.name, asked)];
    const { baseBranch } = view.config.git;
    if (asked?.git?.baseBranch !== undefined && asked.git.baseBranch !== baseBranch) {
      const message = `The run began from ${baseBranch}, and so does its fork; start a new run for another branch.`;
      faults.push({ path: 'config.git.baseBranch', message });
    }
    for (const name of TREE_BUDGET_NAMES) {
      if (asked?.[name] === undefined || (asked[name] ?? undefined) === ofTree[name]) continue;
      const message = `A fork shares the ${name} of its tree, which is ${ofTree[name] ?? 'absent'}; change it with 'extend' at one of its runs.`;
      faults.push({ path: `config.${name}`, message });
    }
    if (faults.length > 0) {
      throw new InvalidRequest(faults.map((fault) => `${fault.path}: ${fault.message}`).join(' '), { faults });
    }
    const { config, notices } = this.#options.runConfig.resolve(
      view.workflow.name,
      project === null ? null : await this.#projectConfig(project, view),
      mergeRunConfigRequests(requestedConfigOf(view.config), asked ?? {}),
    );
    const now = withTree({ ...config, git: { ...config.git, baseBranch } }, ofTree);
    const changed = changedForChecks(view.config, now);
    refuseCarriedEvidence(view, events, changed);
    if (project !== null) this.#options.launcher.refuseUnusableModels(view.workflow.name, now);
    // The project's limits for new runs do not apply to an existing run family.
    const said = notices.filter(
      (notice) => !view.notices.includes(notice) && !TREE_BUDGET_NAMES.some((name) => notice.includes(name)),
    );
    if (changed.length > 0 && view.baseline !== undefined)
      said.push(
        `The baseline of the checks was made by run ${view.id} with other settings (${changed.join(', ')}). The checks of this run are compared with a new one.`,
      );
    return {
      ...(JSON.stringify(now) === JSON.stringify(view.config) ? {} : { config: now }),
      ...(asked === undefined ? {} : { requestedConfig: mergeRunConfigRequests(requestedBefore(events), asked) }),
      ...(said.length === 0 ? {} : { notices: said }),
    };
  }

  /** The project's own configuration, as the run read it at its start. */
  async #projectConfig(project: Project, { baseCommit }: RunView): Promise<ProjectConfig | null> {
    if (baseCommit === undefined) return null;
    return (await readProjectConfig(this.#options.repository, project, baseCommit)).config;
  }
}

/** Settings of two configurations that decide how checks end and that differ. */
function changedForChecks(before: RunConfig, now: RunConfig): readonly string[] {
  const settings = ({ commands, egress }: RunConfig): Readonly<Record<string, unknown>> => ({
    'commands.setup': commands.setup,
    'commands.test': commands.test,
    'commands.installScripts': commands.installScripts === true,
    [`egress.${SETUP_ROLE}`]: egress?.[SETUP_ROLE]?.toSorted(),
  });
  const [old, changed] = [settings(before), settings(now)];
  return Object.keys(changed).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(changed[name]));
}

/**
 * Evidence of the source counts in a fork, so it must be of the fork's own settings.
 * @param changed settings that decide how checks end
 * @throws {InvalidRequest} naming the event before which the source had no evidence for its newest code
 */
function refuseCarriedEvidence(view: RunView, events: readonly WorkflowEvent[], changed: readonly string[]): void {
  if (changed.length === 0) return;
  const code = events.findLastIndex(
    ({ type, payload }) =>
      type === 'ARTIFACT_CREATED' && (payload['artifact'] as { readonly type?: string } | undefined)?.type === 'code',
  );
  const evidence = events.findIndex(({ type }, index) => index > code && type === 'EVIDENCE_RECORDED');
  if (evidence < 0) return;
  const step = events.slice(0, evidence).findLast(({ origin }) => origin === 'input');
  const message = `The checks of run ${view.id} up to event ${view.lastSequence} were made with another setting and would count for the fork. Fork at an event before ${step?.sequence ?? 1}, so that it makes its own.`;
  const faults = changed.map((name) => ({ path: `config.${name}`, message }));
  throw new InvalidRequest(faults.map((fault) => `${fault.path}: ${fault.message}`).join(' '), { faults });
}

/** The state after these events, with turns for others in between; `null` where they do not follow from each other. */
async function replayInTurns(
  start: WorkflowDefinition,
  from: RunState,
  events: readonly WorkflowEvent[],
  versions: (version: number) => WorkflowDefinition | undefined,
): Promise<RunState | null> {
  let definition = start;
  let state = from;
  for (let index = 0; index < events.length;) {
    let end = Math.min(index + PAGE, events.length);
    while (end < events.length && events[end]?.origin !== 'input') end += 1;
    const part = events.slice(index, end);
    const replayed = replay(definition, state, part, versions);
    if (!replayed.ok) return null;
    state = replayed.state;
    const migrated = part.findLast(({ type, origin }) => type === 'RUN_MIGRATED' && origin === 'input');
    definition = (migrated && versions(Number(migrated.payload['to']))) ?? definition;
    index = end;
    if (index < events.length) await nextTurn();
  }
  return state;
}

async function foldWhole(events: readonly WorkflowEvent[]): Promise<RunView> {
  let view: RunView | null = null;
  for (const [index, event] of events.entries()) {
    view = foldRun(view, event);
    if (index % PAGE === PAGE - 1) await nextTurn();
  }
  if (view !== null) return view;
  const [first] = events;
  const runId = first?.workflowRunId ?? '';
  if (first?.type === 'ERASED')
    throw new Conflict(`The beginning of run ${runId} was erased: what it was after an event is not known any more.`);
  throw new Error(`the events of run ${runId} do not begin with its start`);
}

/** Where the new run's branch begins: at the commit that the source's was at. `null` before it had one. */
function commitOf({ definition, state }: ForkedRun, view: RunView): string | null {
  // The definition reads its own machine's context; the registry knows it as any machine.
  const known = state.snapshot === null ? null : definition.workspace?.(state.snapshot.context as never);
  return known ?? view.headCommit ?? view.baseCommit ?? null;
}

function withTree(config: RunConfig, ofTree: TreeBudgets): RunConfig {
  const { maxTreeCostUsd: _cost, maxTreeTokens: _tokens, maxTreeToolCalls: _calls, ...rest } = config;
  return { ...rest, ...ofTree };
}

/** Merges the configurations that were requested for this run: at its start and by its forks. */
function requestedBefore(events: readonly WorkflowEvent[]): RunConfigRequest {
  const requests = events.flatMap(({ type, payload }) => {
    if (type !== 'RUN_STARTED' && type !== 'RUN_FORKED') return [];
    const { requestedConfig } = payload as { readonly requestedConfig?: RunConfigRequest };
    return requestedConfig === undefined ? [] : [requestedConfig];
  });
  return requests.at(-1) ?? {};
}
