/** Where the faults of a refused launch are shown: beside the field that has each, the others below the form. */
import type { Fault } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';

/** The faults of a refusal by field; empty where it names none. Those of an exploration lose the approach that they are in. */
export function faultsOf(error: unknown): readonly Fault[] {
  if (!(error instanceof ApiError)) return [];
  const faults = (error.problem.faults ?? []).map(({ path, message }) => ({
    path: path.replace(/^(?:body\.)?variants\.\d+\./, ''),
    message,
  }));
  return faults.filter(
    ({ path, message }, index) =>
      faults.findIndex((other) => other.path === path && other.message === message) === index,
  );
}

/** Messages of a field and of what is deeper in it; `null` where it has none. */
export function faultAt(faults: readonly Fault[], field: string): string | null {
  const own = faults.filter(({ path }) => path === field || path.startsWith(`${field}.`));
  if (own.length === 0) return null;
  return own
    .map(({ path, message }) => (path === field ? message : `${path.slice(field.length + 1)}: ${message}`))
    .join(' ');
}

/** Faults that none of the fields shows. */
export function faultsElsewhere(faults: readonly Fault[], fields: readonly string[]): readonly Fault[] {
  return faults.filter(({ path }) => !fields.some((field) => path === field || path.startsWith(`${field}.`)));
}
