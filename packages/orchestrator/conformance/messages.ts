/** Messages of a process that harvests one test file, and names that it shares with its parent process. */
import type { Verdict } from './compare.ts';

/** Name of the test file that converts SCXML documents. */
export const SCXML = 'scxml.test.ts';

export type HarvestMessage =
  /** Sent before a test runs and before each comparison, so that the parent process knows the one that does not end. */
  | { readonly kind: 'running' | 'comparing'; readonly index: number; readonly test: string }
  | { readonly kind: 'compared'; readonly test: string; readonly verdict: Verdict };

/** Verdict on a comparison that did not end. */
export function unfinished(why: string): Verdict {
  return { kind: 'different', at: 'an unknown operation', fields: ['end'], why, undefinedKeys: [] };
}
