/**
 * Lists the documented causes for which a run of the engine differs from a plain actor of XState. Every other difference is
 * a defect of the engine.
 */
import type { Difference } from './compare.ts';

export interface Cause {
  readonly name: string;
  /** Document that promises it, relative to the repository's root. */
  readonly document: string;
  /** Heading of its section there. */
  readonly heading: string;
  readonly explains: (difference: Difference) => boolean;
}

export const CAUSES: readonly Cause[] = [
  {
    name: 'spawn within assign quarantines the run',
    document: 'docs/workflow-reference.md',
    heading: '## What is refused, and why',
    explains: ({ why }) => why.includes('spawned within assign') || why.includes('is a reference to an actor'),
  },
  {
    name: 'a context key with the value undefined is absent after the step',
    document: 'docs/engine-as-a-library.md',
    heading: '## What it promises',
    explains: ({ why, undefinedKeys }) => undefinedKeys.some((key) => why.includes(`${key} is not defined`)),
  },
];

/** First documented cause of a difference; `null` when there is none. */
export function causeOf(difference: Difference): Cause | null {
  return CAUSES.find(({ explains }) => explains(difference)) ?? null;
}
