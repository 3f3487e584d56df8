/** A machine's snapshot as it is stored, and read back without anything being started. */
import { type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';
import { freezeJson } from './plain-json.ts';

/**
 * A snapshot from its stored form.
 * @throws when it names a state that the machine does not have, or is no snapshot at all
 */
export function restoreSnapshot(machine: AnyStateMachine, stored: unknown): AnyMachineSnapshot {
  const snapshot = createActor(machine, { snapshot: stored as never }).getSnapshot() as AnyMachineSnapshot;
  if (snapshot.status === 'error') throw new Error(`the stored state cannot be read: ${describeError(snapshot.error)}`);
  freezeJson(snapshot.context);
  return snapshot;
}

/** What went wrong, in one line: of an error, of what a failed activity gives, or of anything else. */
export function describeError(error: unknown): string {
  if (error instanceof Error) return error.message;
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : JSON.stringify(error);
}

/** What JSON keeps of a value: the same before and after it was stored. */
export function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
