/** Features of a full-auto run as rows, from the events of the run. */
import type { WorkflowEvent } from '@autonomous/shared';
import { z } from 'zod';

export interface FeatureRow {
  readonly feature: string;
  readonly name: string;
  readonly status: 'passes' | 'skipped' | 'unreachable' | 'open';
  /** Child runs that were started for it. */
  readonly attempts: number;
  /** Empty for a feature that passes. */
  readonly reason: string;
}

const change = z.object({
  feature: z.string(),
  name: z.string(),
  status: z.enum(['started', 'passes', 'failed', 'skipped']),
  reason: z.string(),
});
const unreachable = z.object({ feature: z.string(), name: z.string(), dependsOn: z.string() });

type AnyEvent = Pick<WorkflowEvent, 'payload'> & { readonly type: string };

/** One row a feature, in the order in which they were begun, then those that cannot be reached. @param events oldest first */
export function featureRows(events: readonly AnyEvent[]): readonly FeatureRow[] {
  const rows = new Map<string, FeatureRow>();
  for (const { type, payload } of events) {
    if (type === 'FEATURE_CHANGED') {
      const { feature, name, status, reason } = change.parse(payload);
      const attempts = (rows.get(feature)?.attempts ?? 0) + (status === 'started' ? 1 : 0);
      const isOpen = status === 'started' || status === 'failed';
      rows.set(feature, { feature, name, status: isOpen ? 'open' : status, attempts, reason });
    }
    if (type === 'FEATURE_UNREACHABLE') {
      const { feature, name, dependsOn } = unreachable.parse(payload);
      rows.set(feature, { feature, name, status: 'unreachable', attempts: 0, reason: `It depends on ${dependsOn}.` });
    }
  }
  return [...rows.values()];
}
