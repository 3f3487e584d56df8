/** Content of an implementation plan, from which its LaTeX is made. */

/** `prose`: text in the subset of Markdown of `prose.ts`, in which `[F12]` cites a finding of the report. */
export interface PlanModel {
  readonly project: string;
  /** Day of the plan, `YYYY-MM-DD`. */
  readonly date: string;
  /** Prose. */
  readonly vision: string;
  /** Prose. */
  readonly architecture: string;
  readonly components: readonly PlanComponent[];
  /** Prose. */
  readonly technologyStack: string;
  /** Prose. */
  readonly defensibility: string;
  readonly risks: readonly PlanRisk[];
  /** In any order: they are shown so that each stands behind what it depends on, else in this order. */
  readonly steps: readonly PlanStep[];
  readonly openDecisions: readonly OpenDecision[];
}

export interface PlanComponent {
  /** Unique. */
  readonly name: string;
  /** Prose, as the next three. */
  readonly purpose: string;
  readonly interfaces: string;
  readonly approach: string;
  /** Names of other components. */
  readonly dependencies: readonly string[];
}

export interface PlanRisk {
  readonly risk: string;
  readonly likelihood: 'high' | 'medium' | 'low';
  readonly impact: 'high' | 'medium' | 'low';
  /** Prose. */
  readonly mitigation: string;
}

export interface PlanStep {
  /** Unique. */
  readonly id: string;
  readonly title: string;
  /** Prose. */
  readonly description: string;
  /** Ids of other steps. */
  readonly dependsOn: readonly string[];
}

export interface OpenDecision {
  readonly decision: string;
  /** Prose: the options and what would decide between them. */
  readonly detail: string;
}
