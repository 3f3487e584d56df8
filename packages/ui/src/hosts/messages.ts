/** What a person reads of an error. */
import { explainRefusal } from '@autonomous/shared';

export function messageOf(error: unknown): string {
  return explainRefusal(error, Date.now());
}
