/** Services that a host gives to screens. A host is the dashboard page or a web view of the editor. */
import type { WorkflowSummary } from '@autonomous/shared';
import { type RunStore, type WorkflowCatalog, workflowOf } from '@autonomous/shared/client';
import { createStore } from '@xstate/store';
import { useSelector } from '@xstate/store-react';
import { createContext, useContext } from 'react';
import type { HostActions, Screen, ScreenClient, SetupClient } from '../bridge.ts';

export interface Host {
  readonly kind: 'dashboard' | 'web-view';
  readonly client: ScreenClient;
  /** Keys, agents and default models; absent in the editor, which has its own place for them. */
  readonly setup?: SetupClient;
  readonly runs: RunStore;
  /** The server's workflows; empty until they are listed. */
  readonly workflows: WorkflowCatalog;
  /** Lists the workflows again, where that failed. */
  readonly listWorkflows: () => void;
  readonly place: PlaceStore;
  /** Shows a screen here. */
  readonly go: (screen: Screen) => void;
  /** The address that a link to the screen has. */
  readonly hrefOf: (screen: Screen) => string;
  /** Puts the address of a screen, as others can open it, on the clipboard. */
  readonly copyLink: (screen: Screen) => Promise<void>;
  /** Ends this browser's session; absent in the editor, which has none. */
  readonly signOut?: () => void;
  /** Actions of the editor. Absent in a browser. */
  readonly editor?: Pick<HostActions, 'openDiff' | 'checkout' | 'resolveConflict'>;
}

/** The shown screen, with the state of the sign-in and the connection. */
export interface Place {
  readonly screen: Screen;
  readonly signedIn: boolean | 'unknown';
  /** News of the connection for the person; `null` while it works. */
  readonly news: string | null;
  /** Faults outside the screen's own requests, newest last. */
  readonly faults: readonly Fault[];
}

export interface Fault {
  readonly id: number;
  readonly message: string;
}

export type PlaceStore = ReturnType<typeof createPlaceStore>;

const MAX_FAULTS = 3;

export function createPlaceStore(screen: Screen) {
  let lastId = 0;
  const initial: Place = { screen, signedIn: 'unknown', news: null, faults: [] };
  return createStore({
    context: initial,
    on: {
      went: (place, { screen }: { screen: Screen }) => ({ ...place, screen }),
      signedIn: (place, { signedIn }: { signedIn: boolean }) => ({ ...place, signedIn }),
      told: (place, { news }: { news: string | null }) => (news === place.news ? place : { ...place, news }),
      failed: (place, { message }: { message: string }) => {
        // The same thing again is no news.
        const others = place.faults.filter((fault) => fault.message !== message);
        lastId += 1;
        return { ...place, faults: [...others, { id: lastId, message }].slice(-MAX_FAULTS) };
      },
      dismissed: (place, { id }: { id: number }) => ({
        ...place,
        faults: place.faults.filter((fault) => fault.id !== id),
      }),
    },
  });
}

const HostContext = createContext<Host | null>(null);
export const HostProvider = HostContext.Provider;

/** @throws {Error} outside of a `HostProvider` */
export function useHost(): Host {
  const host = useContext(HostContext);
  if (host === null) throw new Error('There is no host around this component');
  return host;
}

/** The workflow that a run follows; `undefined` while the server has not listed it. */
export function useWorkflow(
  run: { readonly workflow: { readonly name: string } } | undefined,
): WorkflowSummary | undefined {
  const { workflows } = useHost();
  return useSelector(workflows, ({ context }) =>
    run === undefined ? undefined : workflowOf(context, run.workflow.name),
  );
}
