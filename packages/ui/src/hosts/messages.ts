/** What a person reads of an error. */
import { ApiError } from '@autonomous/shared';

export function messageOf(error: unknown): string {
  if (error instanceof ApiError) return error.problem.detail;
  return error instanceof Error ? error.message : String(error);
}
