/** Projections of runs: sections that a run's workflow makes from its events and its machine's context. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  Conflict,
  type JsonObject,
  type Projected,
  type RunProjection,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { Engine } from '../engine/engine.ts';
import type { EventStore } from '../event-store/event-store.ts';

export type Projection = (view: RunView, events: readonly WorkflowEvent[], context: JsonObject) => Projected;

export interface ProjectionOptions {
  readonly engine: Pick<Engine, 'view' | 'inspect'>;
  readonly store: Pick<EventStore, 'readHistory'>;
  /** `undefined` where the workflow has none. */
  readonly projectionOf: (workflow: string) => Projection | undefined;
}

/** Events that are read at once. */
const PAGE = 500;

/** @returns no sections where the workflow has no projection or the state of the run cannot be read @throws {NotFound} */
export async function readProjection(options: ProjectionOptions, runId: string): Promise<RunProjection> {
  const { engine, store, projectionOf } = options;
  const view = await engine.view(runId);
  const none: RunProjection = { sequence: view.lastSequence, sections: [] };
  const project = projectionOf(view.workflow.name);
  if (project === undefined) return none;
  const context = await contextOf(engine, runId);
  if (context === null) return none;
  const events: WorkflowEvent[] = [];
  for (;;) {
    const page = await store.readHistory(runId, events.at(-1)?.sequence ?? 0, PAGE);
    for (const event of page) events.push(event);
    if (page.length < PAGE) break;
    // Others have a turn between the pages of a long history.
    await nextTurn();
  }
  return { sequence: events.at(-1)?.sequence ?? view.lastSequence, ...project(view, events, context) };
}

/** `null` for a run that is quarantined, or whose workflow this server does not have. */
async function contextOf(engine: Pick<Engine, 'inspect'>, runId: string): Promise<JsonObject | null> {
  try {
    const { snapshot } = (await engine.inspect(runId)).state;
    return snapshot === null ? null : (snapshot.context as JsonObject); // Plain JSON, as after each step.
  } catch (error) {
    if (error instanceof Conflict) return null;
    throw error;
  }
}
