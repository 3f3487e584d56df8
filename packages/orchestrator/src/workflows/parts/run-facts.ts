/** The facts that a machine emitted, read back from the log of its run. Pure. */
import type { WorkflowEvent } from '@autonomous/shared';

/** A fact of one type, with the time at which it was stored. */
export type StoredFact<Fact extends { readonly type: string }, Type extends Fact['type']> = Extract<
  Fact,
  { readonly type: Type }
> & { readonly storedAt: string };

/** Returns the facts of a type, oldest first. @param events of one run, oldest first */
export function factsIn<Fact extends { readonly type: string }>(events: readonly WorkflowEvent[]) {
  const byType = Map.groupBy(events, ({ type }): string => type);
  return <const Type extends Fact['type']>(type: Type): readonly StoredFact<Fact, Type>[] =>
    // The machine emits these facts, and the log keeps them as they are.
    (byType.get(type) ?? []).map(
      ({ payload, timestamp }) => ({ ...payload, type, storedAt: timestamp }) as unknown as StoredFact<Fact, Type>,
    );
}
