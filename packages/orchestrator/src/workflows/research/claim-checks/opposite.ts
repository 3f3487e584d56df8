/** Words in which a claim and its passages contradict each other. */
export interface Opposite {
  /** As the claim has it, such as `not cast`. */
  readonly claim: string;
  /** As the passages have it; empty: they deny nothing. */
  readonly passages: string;
}
