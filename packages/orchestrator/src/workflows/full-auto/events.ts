/** Facts that the machine emits, and their lines in a timeline. */
import type { EventInfo } from '@autonomous/shared';

export type FullAutoFact =
  | { readonly type: 'FEATURES_LISTED'; readonly total: number; readonly features: string }
  | { readonly type: 'FEATURE_LIST_REFUSED'; readonly faults: string }
  | {
      readonly type: 'FEATURE_CHANGED';
      readonly feature: string;
      readonly name: string;
      readonly status: 'started' | 'passes' | 'failed' | 'skipped';
      /** Counts all attempts of the run, from 1. */
      readonly iteration: number;
      /** Empty where the status says all. */
      readonly reason: string;
    }
  | {
      readonly type: 'FEATURE_UNREACHABLE';
      readonly feature: string;
      readonly name: string;
      readonly dependsOn: string;
    }
  | { readonly type: 'FEATURE_WAITS'; readonly feature: string; readonly reason: string }
  | {
      readonly type: 'FEATURES_ENDED';
      readonly kind: 'all' | 'failures' | 'iterations';
      readonly summary: string;
    };

export const FULL_AUTO_EVENTS: Readonly<Record<FullAutoFact['type'], EventInfo>> = {
  FEATURES_LISTED: { text: '{total} features: {features}' },
  FEATURE_LIST_REFUSED: { text: 'The feature list is sent back: {faults}' },
  FEATURE_CHANGED: { text: 'Iteration {iteration}, {feature} {name}: {status}[: {reason}]' },
  FEATURE_UNREACHABLE: { text: '{feature} {name} cannot be reached: it depends on {dependsOn}' },
  FEATURE_WAITS: { text: '{feature} waits for you: {reason}' },
  FEATURES_ENDED: { text: '{summary}' },
};
