/**
 * Versions of a workflow: a version is a number that a run stores at its launch and gives back to `machine(version)`. What the
 * versions share is written once.
 */
import { InvalidRequest } from '@autonomous/shared';
import type { AnyStateMachine } from 'xstate';
import { defineWorkflow, type StoredState, type WorkflowDefinition } from './definition.ts';

type Migration = (state: StoredState) => StoredState;

export interface WorkflowVersions extends Omit<
  WorkflowDefinition,
  'version' | 'machine' | 'migrations' | 'fingerprint' | 'declared'
> {
  /** Version of new runs, from 1. A number is never used for another machine once runs have it. */
  readonly newest: number;
  /** Oldest version that runs may still have. Default: `newest`. */
  readonly oldest?: number;
  /** Machine of a version from `oldest` to `newest`. */
  readonly machine: (version: number) => AnyStateMachine;
  /**
   * Conversions of a run's state to the next version, by the version that they start from. A run that moves by several versions goes
   * through each. Pure. Default: only runs whose history replays identically can move.
   */
  readonly migrations?: Readonly<Record<number, Migration>>;
}

/**
 * Defines every version of a workflow from `oldest` to `newest`, in this order.
 * @throws {InvalidRequest} naming what cannot be made durable, or a wrong order of the numbers
 */
export function defineVersions({
  newest,
  oldest = newest,
  machine,
  migrations = {},
  ...shared
}: WorkflowVersions): readonly WorkflowDefinition[] {
  const refused = (why: string): InvalidRequest => new InvalidRequest(`Workflow '${shared.name}' ${why}.`);
  if (!(oldest <= newest))
    throw refused(
      `has ${oldest} as its oldest version and ${newest} as its newest: give the smaller number as 'oldest'`,
    );
  const late = Object.keys(migrations).find((from) => !(Number(from) < newest));
  if (late !== undefined)
    throw refused(`migrates from version ${late}, and its newest is ${newest}: name an older one in 'migrations'`);
  return Array.from({ length: Math.floor(newest - oldest) + 1 }, (_, index) => {
    const version = oldest + index;
    const to = migrationsTo(version, migrations);
    return defineWorkflow({ ...shared, version, machine: machine(version), migrations: to });
  });
}

/** Conversions to one version, by the version that they start from. */
function migrationsTo(
  version: number,
  steps: Readonly<Record<number, Migration>>,
): Readonly<Record<number, Migration>> {
  const to: Record<number, Migration> = {};
  let after: Migration = (state) => state;
  for (let from = version - 1; ; from--) {
    const step = steps[from];
    if (step === undefined) return to;
    const rest = after;
    after = (state) => rest(step(state));
    to[from] = after;
  }
}
