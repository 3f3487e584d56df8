/** Services that the parts of the extension share. */
import type { RunView, WorkflowSummary } from '@autonomous/shared';
import { type WorkflowCatalog, workflowOf as workflowIn } from '@autonomous/shared/client';
import type { HostActions } from '@autonomous/ui';
import type * as vscode from 'vscode';
import type { Connection } from './connection.ts';
import type { LaunchMemory } from './launch-memory.ts';
import type { LocalServer } from './local-server/local-server.ts';
import type { ModelReadiness } from './model-readiness.ts';
import type { PendingDecisions } from './pending-decisions.ts';
import type { ProjectNames } from './project-names.ts';

export interface Host {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly connection: Connection;
  readonly server: LocalServer;
  /** Empty until the server has listed its workflows. */
  readonly workflows: WorkflowCatalog;
  readonly projects: ProjectNames;
  readonly pending: PendingDecisions;
  readonly launches: LaunchMemory;
  readonly models: ModelReadiness;
}

/** The panels, as commands use them. */
export interface Panels extends HostActions {
  /** The run that the panel in front shows; `null` when it shows none. */
  activeRunId(): string | null;
  /** Does a panel that is in sight show this run? */
  isVisible(runId: string): boolean;
}

/** @throws {Error} in words for a person while no server is connected */
export function clientOf({ connection }: Host): NonNullable<Connection['client']> {
  if (connection.client === null) throw new Error('No Autonomous server is connected.');
  return connection.client;
}

/** The client as soon as there is one: right after the window was opened there is none yet. @throws {Error} as `clientOf` does */
export async function firstClientOf(host: Host): Promise<NonNullable<Connection['client']>> {
  for (let waited = 0; host.connection.client === null && waited < FIRST_CLIENT_WITHIN_MS; waited += LOOK_EVERY_MS) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return clientOf(host);
}

const FIRST_CLIENT_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 100;

/** The workflow that a run follows; `undefined` while it is not known. */
export function workflowOf(
  { workflows }: Pick<Host, 'workflows'>,
  run: { readonly workflow: { readonly name: string } } | undefined,
): WorkflowSummary | undefined {
  return run === undefined ? undefined : workflowIn(workflows.getSnapshot().context, run.workflow.name);
}

export function runsOf({ connection }: Host): Readonly<Record<string, RunView>> {
  return connection.store.getSnapshot().context.runs;
}
