/** One line of what `doctor` finds. */
export interface Check {
  readonly name: string;
  /** `optional`: missing, and only some runs need it. */
  readonly status: 'ok' | 'missing' | 'optional';
  readonly detail: string;
  /** The way out; absent when nothing is missing, or the detail says it. */
  readonly way?: string;
}
