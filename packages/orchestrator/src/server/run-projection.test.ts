/** Reading the projection of a run: all pages of its events, and runs without one. */
import { Conflict, type JsonObject, NotFound, type WorkflowEvent } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { type Projection, type ProjectionOptions, readProjection } from './run-projection.ts';

const COUNT = 1_203;
const log = Array.from({ length: COUNT }, (_, index) => ({ sequence: index + 1 }) as WorkflowEvent);

function reading(projection: Projection | undefined, parts: Partial<ProjectionOptions['engine']> = {}) {
  const snapshot = { context: { found: 3 } };
  return readProjection(
    {
      engine: {
        view: async (id) => aView(id, { lastSequence: COUNT }),
        inspect: async () => ({ definition: null, state: { snapshot } }) as never,
        ...parts,
      },
      store: { readHistory: async (_run, after, limit = 500) => log.slice(after, after + limit) },
      projectionOf: (name) => (name === 'build' ? projection : undefined),
    },
    'r-1',
  );
}

const listOf = (events: readonly WorkflowEvent[], context: JsonObject) => ({
  sections: [
    {
      kind: 'list' as const,
      id: 'events',
      title: `${String(context['found'])} found`,
      empty: '',
      items: events.map(({ sequence }) => ({ text: String(sequence) })),
      total: events.length,
    },
  ],
});

it('gives a workflow all events of the run and the context of its machine', async () => {
  const { sequence, sections } = await reading((_view, events, context) => listOf(events, context));
  expect(sequence).toBe(COUNT);
  expect(sections).toMatchObject([{ title: '3 found', total: COUNT }]);
});

it('has no sections where the workflow has no projection', async () => {
  expect(await reading(undefined)).toEqual({ sequence: COUNT, sections: [] });
});

it('has no sections for a run whose state cannot be read, and passes on what else fails', async () => {
  const failing = (error: Error) => ({ inspect: () => Promise.reject(error) });
  const project: Projection = (_view, events, context) => listOf(events, context);
  expect(await reading(project, failing(new Conflict('Run r-1 is quarantined.')))).toEqual({
    sequence: COUNT,
    sections: [],
  });
  await expect(reading(project, failing(new NotFound('There is no run r-1.')))).rejects.toThrow('no run r-1');
});
