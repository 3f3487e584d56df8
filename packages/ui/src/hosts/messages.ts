/** Turns errors into text for a person. */
import { explainRefusal } from '@autonomous/shared/client';

export function messageOf(error: unknown): string {
  return explainRefusal(error, Date.now());
}
