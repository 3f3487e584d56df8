/** Activities of a workflow from their types: what its machine declares, and what the server performs. */
import type { Activity } from '../../core/activity.ts';
import { activity } from '../../core/definition.ts';

/** Types of a workflow's activities, by name. */
export type ActivityTypes = { readonly [Name: string]: { readonly input: unknown; readonly output: unknown } };

/** The activities as the server performs them. */
export type Implementations<Types> = {
  readonly [Name in keyof Types]: Types[Name] extends { readonly input: infer Input; readonly output: infer Output }
    ? Activity<Input, Output>
    : never;
};

type Declared<Types extends ActivityTypes, Name extends keyof Types> = ReturnType<
  typeof activity<Types[Name]['input'], Types[Name]['output']>
>;

/** Declares activities for a machine: `actors: declared<MyActivities>()('first', 'second')`. */
export function declared<Types extends ActivityTypes>() {
  return <const Name extends keyof Types & string>(...names: readonly Name[]) =>
    // Each name gets logic of its own types, which exist for TypeScript alone.
    Object.fromEntries(names.map((name) => [name, activity()])) as unknown as {
      readonly [Each in Name]: Declared<Types, Each>;
    };
}
