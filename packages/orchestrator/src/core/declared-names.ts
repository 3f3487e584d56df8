/**
 * The stages and documents that a workflow declares, checked against what its machine names while it runs. The engine checks new
 * steps only: a workflow may declare less than what its runs have named.
 */
import type { WorkflowDefinition } from './definition.ts';
import type { StepResult } from './run-state.ts';

/** Returns the first name of a step that its workflow does not declare, in one sentence; `null` when there is none. */
export function undeclaredName(
  { name, declared = {} }: Pick<WorkflowDefinition, 'name' | 'declared'>,
  { state, emitted }: StepResult,
): string | null {
  const { stages, documents } = declared;
  const stage = state.view?.stage ?? null;
  if (stage !== null && stages?.includes(stage) === false) return undeclaredStage(name, stage, stages);
  for (const { type, payload } of emitted) {
    const artifact = type === 'ARTIFACT_CREATED' ? artifactTypeOf(payload) : undefined;
    if (artifact !== undefined && documents?.includes(artifact) === false)
      return undeclaredDocument(name, artifact, documents);
  }
  return null;
}

/** The type of an emitted artifact; `undefined` where the fact gives none. */
export function artifactTypeOf({ artifact }: Readonly<Record<string, unknown>>): string | undefined {
  const { type } = (artifact ?? {}) as { readonly type?: unknown };
  return typeof type === 'string' ? type : undefined;
}

export function undeclaredStage(workflow: string, stage: string, declared: readonly string[]): string {
  return `workflow '${workflow}' has states of the stage '${stage}', which 'stages' does not declare; add it${known(declared)}.`;
}

export function undeclaredDocument(workflow: string, type: string, declared: readonly string[]): string {
  return `workflow '${workflow}' creates artifacts of the type '${type}', which 'documents' does not declare; add it${known(declared)}.`;
}

function known(declared: readonly string[]): string {
  return declared.length === 0 ? '' : `, or use one of ${declared.join(', ')}`;
}
