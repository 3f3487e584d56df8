/** The projection of a full-auto run: where each feature stands, and its attempts. */
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import type { FullAutoFact } from './events.ts';
import { projectionOf } from './projection.ts';
import { NO_ATTEMPTS } from '../parts/attempts.ts';
import type { FullAutoContext } from './types.ts';

const AT = (second: number): string => new Date(Date.UTC(2030, 0, 1) + second * 1_000).toISOString();

/** Facts as the log has them, a second apart. */
const events = (...facts: readonly FullAutoFact[]): readonly WorkflowEvent[] =>
  facts.map(({ type, ...payload }, index) => ({
    id: `e-${index + 1}`,
    position: index + 1,
    workflowRunId: 'r-1',
    sequence: index + 1,
    type,
    origin: 'emitted',
    payload: payload as JsonObject,
    timestamp: AT(index),
  }));

const feature = (id: string, dependencies: string[] = [], passes = false) => ({
  id,
  name: `Sound ${id}`,
  description: '',
  component: 'sounds',
  dependencies,
  passes,
});
const changed = (
  id: string,
  status: 'started' | 'passes' | 'failed' | 'skipped',
  iteration: number,
  reason = '',
): FullAutoFact => ({ type: 'FEATURE_CHANGED', feature: id, name: `Sound ${id}`, status, iteration, reason });

const aContext = (parts: Partial<FullAutoContext> = {}): JsonObject =>
  ({
    features: [],
    skipped: {},
    log: [],
    ...NO_ATTEMPTS,
    isOver: false,
    ...parts,
  }) as unknown as JsonObject;

/** Rows of the features as lists of texts. */
function rows(context: JsonObject, log: readonly WorkflowEvent[], view = aRun()) {
  const table = projectionOf(view, log, context).sections.find(({ id }) => id === 'features');
  return table?.kind === 'table'
    ? table.rows.map((row) => row.map(({ text, note }) => (note === undefined ? text : `${text} / ${note}`)))
    : null;
}

const FEATURES = [feature('A', [], true), feature('B'), feature('C', ['B']), feature('D'), feature('E')];

it('shows of each feature where it stands, and why', () => {
  const log = events(
    changed('A', 'started', 1),
    changed('A', 'passes', 1),
    changed('B', 'started', 2),
    changed('B', 'skipped', 2, 'it failed once: red'),
    changed('D', 'started', 3),
    changed('D', 'failed', 3, 'the agent changed no file'),
    changed('D', 'started', 4),
  );
  const context = aContext({
    features: FEATURES,
    skipped: { B: 'it failed once: red' },
    open: {
      'feature-4': { feature: 'D', iteration: 4 },
      'feature-5': { feature: 'E', iteration: 5, waitsFor: 'Review the result: A dependency is new', isAside: true },
    },
  });
  expect(rows(context, log)).toEqual([
    ['A Sound A / sounds', 'passes', '1', '–'],
    ['B Sound B / sounds', 'skipped / it failed once: red', '1', '–'],
    ['C Sound C / sounds', 'cannot be reached / It depends on B, which is skipped.', '–', 'B'],
    ['D Sound D / sounds', 'under way / The last attempt failed: the agent changed no file', '2', '–'],
    ['E Sound E / sounds', 'under way / Its run asked you: Review the result: A dependency is new', '–', '–'],
  ]);
});

it('says of a run that is over which features were not begun', () => {
  const view = aRun({ completedAt: AT(9), status: 'completed' });
  const context = aContext({ features: [feature('A')], isOver: true });
  expect(rows(context, [], view)).toEqual([['A Sound A / sounds', 'not begun', '–', '–']]);
});

it('has one entry an attempt, with its end and its reason', () => {
  const log = events(changed('B', 'started', 1), changed('B', 'failed', 1, 'red'), changed('B', 'started', 2));
  const attempts = projectionOf(aRun(), log, aContext({ features: FEATURES })).sections[1];
  expect(attempts).toMatchObject({
    kind: 'timeline',
    total: 2,
    entries: [
      {
        title: '1. B Sound B',
        startedAt: AT(0),
        endedAt: AT(1),
        mark: { text: 'failed', tone: 'bad' },
        facts: ['red'],
      },
      { title: '2. B Sound B', endedAt: null, facts: [] },
    ],
  });
});

it('says before the list that there are no features yet, and afterwards that there were none', () => {
  const emptyOf = (view = aRun()) => projectionOf(view, [], aContext()).sections.map(({ empty }) => empty);
  expect(emptyOf()).toEqual(['The features are not listed yet.', 'No feature has been begun yet.']);
  expect(emptyOf(aRun({ completedAt: AT(1), status: 'failed' }))).toEqual([
    'The run ended before its features were listed.',
    'No feature was begun.',
  ]);
});

it('is not misled by a feature that has the name of an own property of objects', () => {
  const context = aContext({ features: [feature('constructor'), feature('toString', ['constructor'])] });
  expect(rows(context, [])?.map(([, status]) => status)).toEqual(['to do', 'to do']);
});
