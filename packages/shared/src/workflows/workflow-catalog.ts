/**
 * The workflows of a server as a client knows them: listed at each connection, empty until the first list has come. Nothing waits
 * for it: `gateInfoOf` and its like have an answer for a workflow that is not known.
 */
import { createStore } from '@xstate/store';
import type { WorkflowSummary } from '../api/orchestrator.ts';
import type { RunStore } from '../run-store.ts';

export interface WorkflowCatalogState {
  /** In the server's order. */
  readonly workflows: readonly WorkflowSummary[];
  /** False until the server has listed its workflows once. */
  readonly isLoaded: boolean;
  /** The last failure; `null` after a list that came. */
  readonly fault: unknown;
}

export type WorkflowCatalog = ReturnType<typeof createWorkflowCatalog>;

const NOTHING_LISTED: WorkflowCatalogState = { workflows: [], isLoaded: false, fault: null };

export function createWorkflowCatalog() {
  return createStore({
    context: NOTHING_LISTED,
    on: {
      listed: (_state, { workflows }: { workflows: readonly WorkflowSummary[] }): WorkflowCatalogState => ({
        workflows,
        isLoaded: true,
        fault: null,
      }),
      failed: (state, { error }: { error: unknown }): WorkflowCatalogState => ({ ...state, fault: error }),
      /** Another server, or another person: what was listed counts no more. */
      forgotten: (): WorkflowCatalogState => NOTHING_LISTED,
    },
  });
}

export interface CatalogSync {
  /** Lists now, besides the times at which it is listed anyway. Never rejects: a failure is in the catalog. */
  refresh(): Promise<void>;
  stop(): void;
}

/**
 * Lists the workflows at each connection of the run store's feed: a server that was started anew may have others.
 * @param client the server's client now; `null` while there is none
 */
export function syncWorkflowCatalog(options: {
  readonly catalog: WorkflowCatalog;
  readonly runs: RunStore;
  readonly client: () => { listWorkflows(): Promise<readonly WorkflowSummary[]> } | null;
}): CatalogSync {
  const { catalog, runs } = options;
  /** Answers to an earlier question may come after those to a later one. */
  let asked = 0;
  const refresh = async (): Promise<void> => {
    asked += 1;
    const own = asked;
    try {
      const workflows = await options.client()?.listWorkflows();
      if (workflows !== undefined && own === asked) catalog.trigger.listed({ workflows });
    } catch (error) {
      if (own === asked) catalog.trigger.failed({ error });
    }
  };
  let wasConnected = false;
  const look = (): void => {
    const { state } = runs.getSnapshot().context.connection;
    const isConnected = state === 'live' || state === 'polling';
    if (isConnected && !wasConnected) void refresh();
    // A feed that replays is on its way to a connection, not beyond one.
    wasConnected = isConnected;
  };
  const subscription = runs.subscribe(look);
  look();
  return {
    refresh,
    stop() {
      asked += 1;
      subscription.unsubscribe();
    },
  };
}

/** The workflow of a name; `undefined` while it is not known. */
export function workflowOf(
  { workflows }: Pick<WorkflowCatalogState, 'workflows'>,
  name: string,
): WorkflowSummary | undefined {
  return workflows.find((workflow) => workflow.name === name);
}

/** Workflows that a person may start: the default one, then the others in the server's order. */
export function launchableOf({ workflows }: Pick<WorkflowCatalogState, 'workflows'>): readonly WorkflowSummary[] {
  const launchable = workflows.filter(({ isChildOnly }) => !isChildOnly);
  return launchable.toSorted((one, other) => Number(other.isDefault === true) - Number(one.isDefault === true));
}
