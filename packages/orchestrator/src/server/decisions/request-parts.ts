/** Keys of the parts of a request. */
import type { Caller } from '@autonomous/shared';

/** A request that does several things does each of them once, under a key of its own. */
export function partOf({ request, ...caller }: Caller, part: string): Caller {
  return request === undefined ? caller : { ...caller, request: { ...request, key: `${request.key} ${part}` } };
}
