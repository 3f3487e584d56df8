/** Errors for those who ask something of an engine that stops. */
import { Unavailable } from '@autonomous/shared';

export function stopping(): Unavailable {
  return new Unavailable('The engine is stopping, and takes nothing new. Send the same again when it is back.');
}

export function stoppedBeforeEnd(runId: string): Unavailable {
  return new Unavailable(`The engine was stopped before run ${runId} ended; it is recovered at the next start.`);
}
