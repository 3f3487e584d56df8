/** Open gates, and decisions of people at them: checked against what the person saw, then sent to the engine as signals. */
import {
  BUDGET_NAMES,
  type BudgetChange,
  type Caller,
  Conflict,
  type Gate,
  type GateDecision,
  type GateInfo,
  gateInfoOf,
  howToRaise,
  InvalidRequest,
  type JsonObject,
  missingOf,
  movedOf,
  NotFound,
  type RetriedGate,
  type RunView,
  toProblem,
  treeBudgetsOf,
  usedUpBudget,
  usedUpTreeBudget,
  vouches,
  withBudgets,
} from '@autonomous/shared';
import type { WorkflowRegistry } from '../../core/registry.ts';
import type { Engine } from '../../engine/engine.ts';
import { changed, incomplete, otherGate } from '../../engine/admission/shown-gate.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { Repository } from '../../repository/repository.ts';
import type { RunConfigPolicy } from '../../run-config/run-config-policy.ts';
import { minutesOf, needed, present, signalOf } from './decision-signal.ts';
import type { Projects } from '../projects.ts';
import { sendMessage } from './messages.ts';
import { releaseBelow } from './holds.ts';
import { partOf } from './request-parts.ts';
import { withComments } from './review-comments.ts';
import { takenFiles } from './taken-files.ts';
import type { Uploads } from './uploads.ts';
import type { DescribedWorkflow } from '../workflow-descriptions.ts';

export interface GateDecisionsOptions {
  readonly engine: Pick<Engine, 'bounds' | 'signal' | 'tree' | 'view'>;
  readonly store: Pick<EventStore, 'listGates' | 'listRuns' | 'readHistory'>;
  readonly repository: Repository;
  readonly workflows: WorkflowRegistry;
  /** Describes a workflow of the registry. */
  readonly describeWorkflow: (name: string) => DescribedWorkflow;
  readonly projects: Pick<Projects, 'of'>;
  readonly uploads: Uploads;
  readonly runConfig: Pick<RunConfigPolicy, 'budgetFaults'>;
}

/** Events that open a gate, which is named after its event. */
const GATE_EVENTS: ReadonlySet<string> = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED', 'RUN_PAUSED']);

export class GateDecisions {
  readonly #options: GateDecisionsOptions;

  constructor(options: GateDecisionsOptions) {
    this.#options = options;
  }

  /** Open gates: of one run, or of all. @throws {NotFound} */
  async list(runId: string | undefined): Promise<readonly Gate[]> {
    if (runId !== undefined) {
      const { gate } = await this.#options.engine.view(runId);
      return gate ? [gate] : [];
    }
    return this.#options.store.listGates();
  }

  /**
   * Retries at each of these gates; a refusal at one does not keep the others from it. What came from a record of others is retried by
   * itself alone: nobody has looked at what applies there.
   */
  async retryAll(caller: Caller, gateIds: readonly string[]): Promise<readonly RetriedGate[]> {
    const retried: RetriedGate[] = [];
    const open = await this.#options.store.listGates();
    const rebuilt = new Map(open.flatMap(({ id, runId, reason }) => (reason === 'rebuilt' ? [[id, runId]] : [])));
    for (const gateId of new Set(gateIds)) {
      const runId = rebuilt.get(gateId);
      if (runId !== undefined) {
        const detail = `Run ${runId} comes from a record in git that others could have written. Look at what applies, then retry this run by itself.`;
        retried.push({ gateId, retried: false, detail });
        continue;
      }
      try {
        await this.decide(partOf(caller, gateId), gateId, { decision: 'retry' });
        retried.push({ gateId, retried: true });
      } catch (error) {
        const problem = toProblem(error);
        // A fault of the server or its disk would be the same for the other gates.
        if (problem.status >= 500) throw error;
        retried.push({ gateId, retried: false, detail: problem.detail });
      }
    }
    return retried;
  }

  #gateInfo(workflow: string, kind: string): GateInfo {
    const { workflows, describeWorkflow } = this.#options;
    return gateInfoOf(workflows.latest(workflow) === undefined ? undefined : describeWorkflow(workflow), kind);
  }

  /**
   * The signal that decides a gate.
   * @param view the run at its gate
   * @throws {Conflict} @throws {InvalidRequest} when the gate does not take the decision
   */
  async signalFor(caller: Caller, view: RunView, gate: Gate, decision: GateDecision) {
    if (!gate.decisions.includes(decision.decision)) {
      throw new Conflict(
        `Gate ${gate.id} ('${gate.kind}') does not take '${decision.decision}'; it takes ${gate.decisions.join(', ') || 'no decision: cancel its run'}.`,
      );
    }
    // The engine compares what was shown with the gate that it is told; here it is known that nobody named one.
    if (decision.gateId === undefined && vouches(decision.decision)) {
      const moved = movedOf(gate, decision);
      throw moved.length > 0 ? changed(gate, moved) : incomplete(gate.runId, gate.id, missingOf(gate, decision));
    }
    if (gate.reason === 'budget' && decision.decision === 'extend') {
      return { type: 'BUDGET_CHANGED', payload: { ...this.#budgetsOf(decision), by: caller.userId } };
    }
    const { engine, repository, projects, uploads } = this.#options;
    const take = await takenFiles(
      {
        repository,
        projectOf: (id) => projects.of(id),
        view: (id) => engine.view(id),
        gateInfo: (workflow, kind) => this.#gateInfo(workflow, kind),
      },
      view,
      gate,
      decision,
    );
    const said = withComments(view, gate, decision);
    refuseMissingField(said, gate, this.#gateInfo(view.workflow.name, gate.kind));
    const takes = this.#options.workflows.find(view.workflow.name, view.workflow.version)?.signals ?? {};
    const { type, payload } = await signalOf(said, gate, uploads, take, takes);
    return { type, payload: { ...payload, by: caller.userId } };
  }

  /** @throws {InvalidRequest} when it names none, or they are beyond the server's limits */
  #budgetsOf(decision: GateDecision): BudgetChange & JsonObject {
    const change = present(Object.fromEntries(BUDGET_NAMES.map((name) => [name, decision[name]])));
    if (Object.keys(change).length === 0 || decision.minutes !== undefined) {
      const message = `For a budget 'extend' takes ${BUDGET_NAMES.join(', ')}, at least one of them, and no minutes.`;
      throw new InvalidRequest(message, { faults: [{ path: 'maxCostUsd', message }] });
    }
    const faults = this.#options.runConfig.budgetFaults(change);
    if (faults.length > 0) throw new InvalidRequest(faults.map((fault) => fault.message).join(' '), { faults });
    return change;
  }

  /** @throws {InvalidRequest} when the run would stop at once for the same reason */
  async #refuseSpent({ id, gate }: RunView, change: BudgetChange): Promise<void> {
    const { engine } = this.#options;
    const raised = gate?.budgetOf ?? id;
    for (const { runId, ...spent } of await engine.bounds(id)) {
      const budgets = runId === raised ? withBudgets(spent.budgets, change) : spent.budgets;
      const usedUp = usedUpBudget({ ...spent, budgets });
      if (usedUp === null) continue;
      const whose = runId === id ? '' : ` of run ${runId}, for which it works`;
      const how = runId === raised ? 'Set a higher budget.' : howToRaise(runId, usedUp.budget);
      throw new InvalidRequest(`Run ${id} cannot resume with these budgets${whose}: ${usedUp.why}. ${how}`);
    }
    const tree = await engine.tree(id);
    const usedUp = usedUpTreeBudget({ ...tree, budgets: treeBudgetsOf(withBudgets(tree.budgets, change)) });
    if (usedUp !== null)
      throw new InvalidRequest(`Run ${id} cannot resume with these budgets: ${usedUp.why}. Set a higher budget.`);
  }

  /** Raises the budget of the run above for which a run waits at its gate; that resumes the run, as all others that wait for it. */
  async #raiseAbove(caller: Caller, gate: Gate, runId: string, change: JsonObject): Promise<RunView> {
    const { engine } = this.#options;
    await engine.signal(runId, 'BUDGET_CHANGED', change, undefined, partOf(caller, runId).request);
    try {
      const payload = { by: caller.userId };
      return await engine.signal(gate.runId, 'BUDGET_CHANGED', payload, { gateId: gate.id }, caller.request);
    } catch (error) {
      if (error instanceof Conflict) return engine.view(gate.runId); // It has resumed with the others already.
      throw error;
    }
  }

  async #decideAt(caller: Caller, view: RunView, gate: Gate, decision: GateDecision): Promise<RunView> {
    const { id: runId } = view;
    const { type, payload } = await this.signalFor(caller, view, gate, decision);
    if (type === 'BUDGET_CHANGED') {
      await this.#refuseSpent(view, payload);
      if (gate.budgetOf !== undefined) return this.#raiseAbove(caller, gate, gate.budgetOf, payload);
    }
    const { artifactHash, codeTree, concernsHash } = decision;
    const shown = { gateId: gate.id, artifactHash, codeTree, concernsHash };
    if (gate.reason === 'held') await releaseBelow(this.#options, caller, runId);
    const decided = await this.#options.engine.signal(runId, type, payload, shown, caller.request);
    // A child that was being started may have been paused since.
    if (gate.reason === 'held') await releaseBelow(this.#options, caller, runId);
    if (gate.reason !== 'held' || !decision.notes) return decided;
    try {
      return await sendMessage(this.#options, partOf(caller, 'notes'), runId, decision.notes);
    } catch (error) {
      if (!(error instanceof Conflict || error instanceof InvalidRequest)) throw error;
      throw new Conflict(
        `Run ${runId} was retried, and your words did not reach it: ${error.message} Send them again as a message when it works.`,
        { cause: error },
      );
    }
  }

  /** The run's open gate, where it is this one. @throws {Conflict} saying who decided it or that the run went on without it */
  async #openGate(view: RunView, gateId: string): Promise<Gate> {
    if (view.gate?.id === gateId) return view.gate;
    const sequence = Number(gateId.slice(view.id.length + 1));
    const isOf = gateId.startsWith(`${view.id}.`) && Number.isSafeInteger(sequence) && sequence > 0;
    const isKnown =
      view.gates.some((outcome) => outcome.gateId === gateId) ||
      (isOf && GATE_EVENTS.has((await this.#options.store.readHistory(view.id, sequence - 1, 1))[0]?.type ?? ''));
    if (!isKnown) throw new NotFound(`Run ${view.id} has no gate '${gateId}'; it is ${view.status}.`);
    throw otherGate(view, gateId) ?? new Conflict(`Gate ${gateId} is not open.`);
  }

  /** Decides the gate of this id. @throws {NotFound} @throws {Conflict} @throws {InvalidRequest} @throws {Stale} */
  async decide(caller: Caller, gateId: string, decision: GateDecision): Promise<RunView> {
    const runId = gateId.slice(0, Math.max(0, gateId.lastIndexOf('.')));
    if (runId === '') throw new NotFound(`'${gateId}' is not the id of a gate.`);
    if (decision.gateId !== undefined && decision.gateId !== gateId) {
      const message = `names gate ${decision.gateId}, the path names ${gateId}`;
      throw new InvalidRequest(`The decision is of two gates: gateId ${message}.`, {
        faults: [{ path: 'gateId', message }],
      });
    }
    return this.#decideNamed(caller, await this.#options.engine.view(runId), gateId, decision);
  }

  async #decideNamed(caller: Caller, view: RunView, gateId: string, decision: GateDecision): Promise<RunView> {
    return this.#decideAt(caller, view, await this.#openGate(view, gateId), { ...decision, gateId });
  }

  /** Decides the gate at which a run waits, or changes its budgets or the time of its stage, which need no gate. */
  async decideOpen(caller: Caller, runId: string, decision: GateDecision): Promise<RunView> {
    const view = await this.#options.engine.view(runId);
    if (decision.gateId !== undefined) return this.#decideNamed(caller, view, gateOf(runId, decision.gateId), decision);
    // Budgets can be changed at any time, whatever the run waits for.
    const isBudget = decision.decision === 'extend' && BUDGET_NAMES.some((name) => decision[name] !== undefined);
    if (isBudget && view.gate?.reason !== 'budget') {
      const payload = { ...this.#budgetsOf(decision), by: caller.userId };
      return this.#options.engine.signal(runId, 'BUDGET_CHANGED', payload, undefined, caller.request);
    }
    if (view.gate) return this.#decideAt(caller, view, view.gate, decision);
    if (decision.decision === 'extend') {
      const payload = { by: caller.userId, minutes: minutesOf(decision) };
      return this.#options.engine.signal(runId, 'STAGE_EXTENDED', payload, undefined, caller.request);
    }
    const last = view.gates.at(-1);
    const where = `it is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''}`;
    throw new Conflict(
      `Run ${runId} has no open gate to ${decision.decision}; ${where}.${last ? ` The last one was decided: '${last.decision}' by ${last.by}.` : ''}`,
      { extra: last ? { winner: last as unknown as JsonObject } : {} },
    );
  }
}

/** @throws {InvalidRequest} where the decision lacks the field that the workflow demands for it at this gate */
function refuseMissingField(decision: GateDecision, gate: Gate, { needs = {} }: GateInfo): void {
  const field = needs[decision.decision];
  if (field === undefined || field === 'response' || field === 'minutes') return; // `signalOf` knows what these hold
  if (decision.take !== undefined && gate.decisions.includes(decision.decision)) return;
  needed(decision[field], field, decision.decision);
}

/** The id of a gate that has to be one of this run's. @throws {NotFound} */
function gateOf(runId: string, gateId: string): string {
  if (gateId.startsWith(`${runId}.`)) return gateId;
  throw new NotFound(`Run ${runId} has no gate '${gateId}': it is one of another run.`);
}
