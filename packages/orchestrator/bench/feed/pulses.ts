/** Runs of the bench's workflow on a server. */
import path from 'node:path';
import type { Client } from '@autonomous/shared/client';

/** The file that a server is given as AUTONOMOUS_WORKFLOWS. */
export const PULSE = path.join(import.meta.dirname, 'pulse.ts');
const AT_ONCE = 16;

export interface Pulses {
  readonly kind: 'works' | 'waits' | 'ends';
  readonly count: number;
  /** How long a step of one that works takes, and how many lines of progress it reports. */
  readonly everyMs?: number;
  readonly lines?: number;
  /** What was asked for; nothing when absent. */
  readonly request?: string;
}

/** @returns their ids */
export async function launchPulses(client: Client, { count, request, ...input }: Pulses): Promise<readonly string[]> {
  const launched: string[] = [];
  let asked = 0;
  const launchSome = async (): Promise<void> => {
    while (asked < count) {
      asked += 1;
      launched.push((await client.launchRun({ workflow: 'pulse', input, request })).id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, launchSome));
  return launched;
}
