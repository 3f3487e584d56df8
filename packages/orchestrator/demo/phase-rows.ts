/** Phases of a roadmap's item as rows, from the events of its run. */
import type { WorkflowEvent } from '@autonomous/shared';
import { z } from 'zod';

export interface PhaseRow {
  readonly phase: string;
  /** 1 where the phase never failed. */
  readonly attempts: number;
  /** Until the next phase begins, or the run's last event; the time that a gate waits is part of it. */
  readonly durationMs: number;
}

const phaseFact = z.object({ phase: z.string(), attempts: z.number() });

type TimedEvent = Pick<WorkflowEvent, 'timestamp' | 'payload'> & { readonly type: string };

/** One row for each stay in a phase, in the order of their start. @param events of one run, oldest first */
export function phaseRows(events: readonly TimedEvent[]): readonly PhaseRow[] {
  const stays: { phase: string; attempts: number; startedAt: number }[] = [];
  for (const { type, payload, timestamp } of events) {
    if (type !== 'ROADMAP_PHASE_CHANGED') continue;
    const { phase, attempts: failures } = phaseFact.parse(payload);
    const last = stays.at(-1);
    if (last?.phase === phase) last.attempts = Math.max(last.attempts, failures + 1);
    else stays.push({ phase, attempts: failures + 1, startedAt: Date.parse(timestamp) });
  }
  const endedAt = Date.parse(events.at(-1)?.timestamp ?? '');
  return stays.map(({ phase, attempts, startedAt }, index) => ({
    phase,
    attempts,
    durationMs: (stays[index + 1]?.startedAt ?? endedAt) - startedAt,
  }));
}
