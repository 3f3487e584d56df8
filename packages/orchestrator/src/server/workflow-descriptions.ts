/** Describes a workflow to those who want to start it. */
import type { WorkflowDetails, WorkflowInfo, WorkflowSummary } from '@autonomous/shared';
import { jsonSchemaOf, type WorkflowDefinition } from '../core/definition.ts';
import { activitiesOf, diagramOf } from '../core/diagram.ts';

/** A workflow of this server as the API describes it. */
export interface DescribedWorkflow extends WorkflowInfo {
  /** True: only runs of other workflows start it. */
  readonly isChildOnly: boolean;
  /** True: a request that names no workflow starts it. Default: false. */
  readonly isDefault?: boolean;
}

export function summaryOf(definition: WorkflowDefinition, info: DescribedWorkflow): WorkflowSummary {
  return {
    ...info,
    version: definition.version,
    description: definition.description,
    needsProject: definition.needsProject ?? false,
    input: definition.input === undefined ? null : jsonSchemaOf(definition.input),
    ...(definition.defaultRequest === undefined ? {} : { defaultRequest: definition.defaultRequest }),
    signals: Object.keys(definition.signals),
    mermaid: diagramOf(definition),
  };
}

/** @param versions all versions of it that are registered, newest first */
export function detailsOf(
  definition: WorkflowDefinition,
  info: DescribedWorkflow,
  versions: readonly number[],
): WorkflowDetails {
  return {
    ...summaryOf(definition, info),
    versions,
    signals: Object.entries(definition.signals).map(([type, schema]) => ({ type, payload: jsonSchemaOf(schema) })),
    activities: activitiesOf(definition),
  };
}
