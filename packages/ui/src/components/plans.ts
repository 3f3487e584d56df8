/** The versions of a run's plan. */
import type { Artifact, RunView } from '@autonomous/shared';

/** Oldest first. */
export function plansOf({ artifacts }: Pick<RunView, 'artifacts'>): readonly Artifact[] {
  return artifacts.filter(({ type, stage }) => stage === 'planning' && (type === 'mermaid_diagram' || type === 'spec'));
}
