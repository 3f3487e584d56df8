/** Features of a run: what is wrong with a list of them, which one comes next, and what is left at the end. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  failuresOf,
  type Feature,
  featureFaults,
  featureListJsonSchema,
  featureListSchema,
  type ListedFeature,
  MAX_FEATURES,
  nextFeature,
  unreachable,
} from './features.ts';
import { newsOf, renderFeatureList, renderInit, renderProgress } from './files.ts';

const feature = (id: string, dependencies: readonly string[] = [], passes = false): Feature => ({
  id,
  name: `Feature ${id}`,
  description: `Build ${id}.`,
  component: 'core',
  dependencies: [...dependencies],
  passes,
});

/** The same as an agent lists it. */
const listed = ({ passes: _, ...rest }: Feature): ListedFeature => ({ ...rest, tasks: ['T1'] });

it.each([
  ['a list in any order', [feature('B', ['A']), feature('A')], []],
  ['a cycle', [feature('A', ['C']), feature('B', ['A']), feature('C', ['B'])], [/^A → C → B → A is a cycle/]],
  [
    'a cycle behind another feature',
    [feature('D', ['A']), feature('A', ['B']), feature('B', ['A'])],
    [/^A → B → A is/],
  ],
  ['a feature that needs itself', [feature('A', ['A'])], [/^A → A is a cycle/]],
  ['an unknown dependency', [feature('A', ['Z'])], [/^A depends on Z, and no feature has this id/]],
  ['an id twice', [feature('A'), feature('A')], [/^Two features have the id A/]],
])('a list is refused by name: %s', (_, features, faults) => {
  expect(featureFaults(features.map(listed), ['T1'])).toEqual(faults.map((fault) => expect.stringMatching(fault)));
});

it('a list is refused that leaves out tasks of the plan, or that is for others', () => {
  const features = [
    { ...listed(feature('A')), tasks: ['T1', 'T3'] },
    { ...listed(feature('B')), tasks: ['T9'] },
  ];
  expect(featureFaults(features, ['T1', 'T2', 'T3', 'T4'])).toEqual([
    'No feature carries out T2, T4 of the plan. Name each task in the "tasks" of a feature.',
    'B names the task T9, which the plan does not have. Take it out, or leave the feature away.',
  ]);
  expect(featureFaults(features, ['T1', 'T3', 'T9'])).toEqual([]);
});

it('finds a cycle in a list as long as one may be', () => {
  const chain = Array.from({ length: MAX_FEATURES }, (_, index) =>
    feature(`F${index}`, [`F${(index + 1) % MAX_FEATURES}`]),
  );
  expect(featureFaults(chain.map(listed), ['T1'])).toEqual([
    expect.stringMatching(/^F0 → F1 → .* → F99 → F0 is a cycle/),
  ]);
});

it('the next feature is the first whose dependencies pass, and no skipped one', () => {
  const features = [feature('A', ['B']), feature('B'), feature('C')];
  expect(nextFeature({ features, skipped: {} })?.id).toBe('B');
  expect(nextFeature({ features, skipped: { B: 'it failed' } })?.id).toBe('C');
  expect(nextFeature({ features: [feature('A', ['B']), feature('B', [], true)], skipped: {} })?.id).toBe('A');
  expect(nextFeature({ features: [feature('constructor')], skipped: {} })?.id).toBe('constructor');
});

it('what depends on a skipped feature cannot be reached, at any distance', () => {
  const features = [
    feature('A', [], true),
    feature('B', ['A']),
    feature('C', ['A', 'B']),
    feature('D', ['C']),
    feature('E'),
  ];
  const state = { features, skipped: { B: 'it failed 3 times.' } };
  expect([...unreachable(state)]).toEqual([
    ['C', 'B'],
    ['D', 'B'],
  ]);
  expect(failuresOf(state)).toEqual([
    'B Feature B is skipped: it failed 3 times.',
    'C Feature C cannot be reached: it depends on B, which is skipped.',
    'D Feature D cannot be reached: it depends on B, which is skipped.',
    'E Feature E was not begun: the iterations were used up.',
  ]);
});

it('the file of the features is what its schema says', () => {
  const features = [feature('A'), feature('B', ['A'], true)];
  expect(featureListSchema.parse(JSON.parse(renderFeatureList(features)))).toEqual({ features });
  const file = new URL('../../../../../docs/schemas/feature-list.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(featureListJsonSchema());
});

it('the progress says what became of each feature and of each iteration', () => {
  const text = renderProgress({
    topic: 'Sounds',
    plan: 'docs/research-sounds/sounds-plan.json',
    features: [feature('A', [], true), feature('B'), feature('C', ['B'])],
    skipped: { B: 'it failed once: red' },
    log: [
      { iteration: 2, feature: 'A', outcome: 'passes', reason: '' },
      { iteration: 1, feature: 'B', outcome: 'skipped', reason: 'it failed once: red' },
    ],
    compactions: [{ at: '2026-11-25T22:10:00.000Z', run: 'r-7', workflow: 'build' }],
    waiting: [],
    isOver: true,
  });
  expect(text.split('\n')).toEqual([
    'Full auto: Sounds',
    'Plan: docs/research-sounds/sounds-plan.json',
    '1 of 3 features pass. Completed with failures.',
    '',
    '[x] A Feature A: passes',
    '[ ] B Feature B: skipped: it failed once: red',
    '[ ] C Feature C: cannot be reached: it depends on B',
    '',
    'Iterations',
    '2. A passes',
    '1. B skipped: it failed once: red',
    '',
    'Contexts of agents that were compacted',
    '2026-11-25T22:10:00.000Z build, run r-7: its transcript has all until then',
    '',
  ]);
});

it('the progress names what waits for a person, and each commit of the files its own news', () => {
  const state = {
    topic: 'Sounds',
    plan: 'plan.json',
    features: [feature('A'), feature('B', [], true), feature('C')],
    skipped: {},
    compactions: [],
    log: [{ iteration: 2, feature: 'B', outcome: 'passes' as const, reason: '' }],
    waiting: [{ iteration: 1, feature: 'A', why: 'Review the result: A dependency is new' }],
    isOver: false,
  };
  expect(renderProgress(state).split('\n')).toContain(
    '[ ] A Feature A: waits for you: Review the result: A dependency is new',
  );
  const accepted = 'its checks fail, and it was accepted by ada: It is for a demo.';
  expect(
    renderProgress({ ...state, log: [{ iteration: 2, feature: 'B', outcome: 'passes', reason: accepted }] }).split(
      '\n',
    ),
  ).toContain(`[x] B Feature B: passes: ${accepted}`);
  // The output of a command is in it: it has no line of its own.
  const forged = [{ iteration: 1, feature: 'A', why: 'npm failed\n[x] C Feature C: passes' }];
  expect(renderProgress({ ...state, waiting: forged }).split('\n')).toContain(
    '[ ] A Feature A: waits for you: npm failed [x] C Feature C: passes',
  );
  expect(newsOf({ ...state, log: [], waiting: [] })).toBe('Features of Sounds');
  expect(newsOf({ ...state, log: [] })).toBe('A: waits for a person');
  expect(newsOf(state)).toBe('B: passes');
  expect(newsOf({ ...state, isOver: true })).toBe('Sounds: 1 of 3 features pass');
});

it('a feature that waits for a person is not begun again, and nothing that depends on it is', () => {
  const features = [feature('A'), feature('B', ['A']), feature('C')];
  expect(nextFeature({ features, skipped: {} }, ['A'])?.id).toBe('C');
  expect(nextFeature({ features, skipped: {} }, ['A', 'C'])).toBeUndefined();
});

it('the script of the setup has the command of the project and no other', () => {
  expect(renderInit('npm ci')).toContain('\nset -eu\nnpm ci\n');
  expect(renderInit(null)).toContain('needs no setup');
});
