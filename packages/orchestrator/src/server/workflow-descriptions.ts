/** What a workflow is to those who want to start it. */
import type { WorkflowDetails, WorkflowSummary } from '@autonomous/shared';
import { jsonSchemaOf, type WorkflowDefinition } from '../core/definition.ts';
import { activitiesOf, diagramOf } from '../core/diagram.ts';

export function summaryOf(definition: WorkflowDefinition): WorkflowSummary {
  return {
    name: definition.name,
    version: definition.version,
    description: definition.description,
    needsProject: definition.needsProject ?? false,
    signals: Object.keys(definition.signals),
    mermaid: diagramOf(definition),
  };
}

/** @param versions all versions of it that are registered, newest first */
export function detailsOf(definition: WorkflowDefinition, versions: readonly number[]): WorkflowDetails {
  return {
    ...summaryOf(definition),
    versions,
    input: definition.input === undefined ? null : jsonSchemaOf(definition.input),
    signals: Object.entries(definition.signals).map(([type, schema]) => ({ type, payload: jsonSchemaOf(schema) })),
    activities: activitiesOf(definition),
  };
}
