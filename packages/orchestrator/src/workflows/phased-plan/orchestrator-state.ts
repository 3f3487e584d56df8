/**
 * The state file of a plan, `orchestrator-state.json` in the record of its run: derived from the run's events, never read back.
 */
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';

/** Shape and names are those of the file; they are read by people and scripts. */
export interface OrchestratorState {
  readonly plan_path: string;
  readonly total_phases: number;
  /** The lowest phase under way, else the lowest that is not finished; `null` when all are. */
  readonly current_phase: number | null;
  readonly phase_status: PhaseStatus;
  readonly retry_count: number;
  readonly max_retries: number;
  /** Ascending. */
  readonly completed_phases: readonly number[];
  /** In the order in which the phases were finished. */
  readonly commits: readonly { readonly phase: number; readonly hash: string; readonly message: string }[];
  readonly last_error: string | null;
}

export const PHASE_STATUSES = [
  'pending',
  'implementing',
  'verifying',
  'reviewing',
  'fixing',
  'committing',
  'blocked',
  'completed',
] as const;
export type PhaseStatus = (typeof PHASE_STATUSES)[number];

/** Facts that the machines of a plan and of a phase emit. */
export type PlanFact =
  | {
      readonly type: 'PLAN_READ';
      readonly planPath: string;
      /** Numbers of the phases of this run. */
      readonly phases: readonly number[];
      /** Number of phases of the plan. */
      readonly total: number;
      readonly maxRetries: number;
    }
  | {
      readonly type: 'PHASE_CHANGED';
      readonly phase: number;
      readonly status: PhaseStatus;
      readonly retryCount: number;
      readonly lastError: string | null;
    }
  | { readonly type: 'PHASE_COMMITTED'; readonly phase: number; readonly hash: string; readonly message: string };

/** The state after these events; `null` before a plan was read. */
export function orchestratorStateOf(events: readonly WorkflowEvent[]): OrchestratorState | null {
  const facts = events.flatMap(({ type, payload }) => factOf(type, payload));
  const read = facts.findLast((fact) => fact.type === 'PLAN_READ');
  if (read === undefined) return null;
  const latest = new Map<number, Extract<PlanFact, { type: 'PHASE_CHANGED' }>>();
  const commits = new Map<number, OrchestratorState['commits'][number]>();
  for (const fact of facts) {
    if (fact.type === 'PHASE_CHANGED') latest.set(fact.phase, fact);
    if (fact.type === 'PHASE_COMMITTED') {
      const { phase, hash, message } = fact;
      commits.delete(phase);
      commits.set(phase, { phase, hash, message });
    }
  }
  const ascending = read.phases.toSorted((a, b) => a - b);
  const statusOf = (phase: number): PhaseStatus => latest.get(phase)?.status ?? 'pending';
  const open = ascending.filter((phase) => statusOf(phase) !== 'completed');
  const current = open.find((phase) => statusOf(phase) !== 'pending') ?? open[0] ?? null;
  const now = current === null ? undefined : latest.get(current);
  return {
    plan_path: read.planPath,
    total_phases: read.total,
    current_phase: current,
    phase_status: current === null ? 'completed' : statusOf(current),
    retry_count: now?.retryCount ?? 0,
    max_retries: read.maxRetries,
    completed_phases: ascending.filter((phase) => statusOf(phase) === 'completed'),
    commits: [...commits.values()],
    last_error: now?.lastError ?? null,
  };
}

/** Files of the record: the state, once there is one. */
export function stateFiles(events: readonly WorkflowEvent[]): Readonly<Record<string, string>> {
  const state = orchestratorStateOf(events);
  return state === null ? {} : { 'orchestrator-state.json': `${JSON.stringify(state, null, 2)}\n` };
}

/** The engine stores what the machines emitted; their types have checked each payload. */
function factOf(type: string, payload: JsonObject): PlanFact[] {
  return type === 'PLAN_READ' || type === 'PHASE_CHANGED' || type === 'PHASE_COMMITTED'
    ? [{ type, ...payload } as unknown as PlanFact]
    : [];
}
