/** The typed plan: what is taken of proposals, its order and its hash. */
import { describe, expect, it } from 'vitest';
import { changedSections, draftFaults, isFinding, NO_PLAN, ordered, planHashOf, withDraft } from './plan.ts';
import { miscitedFaults } from './miscited.ts';
import type { Finding } from '../research/types.ts';
import type { Draft, Plan } from './types.ts';

const task = (id: string, dependencies: string[] = [], more: Partial<Plan['tasks'][number]> = {}) => ({
  id,
  title: `Task ${id}`,
  description: 'Do it.',
  component: null,
  dependencies,
  acceptanceCriteria: ['It rings.'],
  ...more,
});
const component = (name: string, dependencies: string[] = []) => ({
  name,
  purpose: 'Holds.',
  interfaces: 'Bolts.',
  approach: 'Steel.',
  dependencies,
});
const draft = (change: Partial<Draft>): Draft => ({ summary: '', answers: [], claims: [], ...change });
const reasons = (change: Partial<Draft>, seat: number): readonly string[] =>
  draftFaults(draft(change), seat, 2).map(({ section, reason }) => `${section}: ${reason}`);

describe('tasks', () => {
  it('stand behind those that they depend on, else in the given order', () => {
    expect(ordered([task('c', ['a']), task('b'), task('a')])?.map(({ id }) => id)).toEqual(['b', 'a', 'c']);
  });

  it('have no order where they wait for each other', () => {
    expect(ordered([task('a', ['b']), task('b', ['a'])])).toBeNull();
  });
});

describe('a proposal', () => {
  it('is not taken where tasks wait for each other, and those alone are named', () => {
    expect(reasons({ tasks: [task('a', ['b']), task('b', ['a']), task('c', ['a']), task('d')] }, 2)).toEqual([
      'tasks: Tasks wait for each other: a, b, c.',
    ]);
  });

  it('is not taken where a name is there twice or missing', () => {
    expect(reasons({ tasks: [task('a'), task('a', ['x'])] }, 2)).toEqual([
      "tasks: Task 'a' is there twice.",
      "tasks: Task 'a' depends on 'x', which is no task of the plan.",
    ]);
    expect(reasons({ components: [component('Frame', ['Motor'])] }, 1)).toEqual([
      "components: Component 'Frame' depends on 'Motor', which is no component of the plan.",
    ]);
  });

  it('is not taken where it cites a finding that does not exist', () => {
    expect(reasons({ vision: 'It is old [F2], and heavy [F3].' }, 1)).toEqual([
      'vision: The vision cites F3, which is no finding of the report.',
    ]);
    expect(reasons({ tasks: [task('a', [], { acceptanceCriteria: ['As in [F9].'] })] }, 2)).toEqual([
      "tasks: A task ('a') cites F9, which is no finding of the report.",
    ]);
  });

  it('is not taken where it estimates effort, also in a title', () => {
    expect(reasons({ tasks: [task('a', [], { title: 'Frame, 2 days' })] }, 2)[0]).toContain('estimates effort in time');
  });

  it('is not taken where it names a finding for a number or quotation that the finding does not have', () => {
    const finding: Finding = {
      id: 'F1',
      claim: 'The bell was cast in 1288.',
      evidence: [
        { quote: 'The bell was cast in 1288 and weighs 4,500 kilograms.', address: 'https://a.test/', hash: 'h' },
      ],
      sources: [],
      confidence: 'high',
      round: 1,
    };
    const text =
      'The frame bears 4,500 kilograms [F1]. It bears 9,000 kilograms [F1]. The motor has 300 watts. The town says "the bell is not to be rung" [F1].';
    const miscited = miscitedFaults(draft({ vision: text, tasks: [task('a')] }), 1, [finding]);
    expect(miscited.map(({ reason }) => /"(.*)"\./.exec(reason)?.[1])).toEqual([
      'It bears 9,000 kilograms [F1].',
      'The town says "the bell is not to be rung" [F1].',
    ]);
    expect(draftFaults({ ...draft({ vision: text }), miscited }, 1, 1)).toEqual(miscited);
  });

  it('changes the sections of its own architect alone', () => {
    const plan = withDraft(NO_PLAN, draft({ vision: 'It rings.', defensibility: 'Old.' }), 1, []);
    expect(plan.vision).toBe('It rings.');
    expect(plan.defensibility).toBe('');
  });

  it('keeps a section with a fault as it was, and takes the others', () => {
    const before = { ...NO_PLAN, vision: 'Before.' };
    const fault = { section: 'vision', index: null, reason: 'No.' };
    const plan = withDraft(before, draft({ vision: 'After.', technologyStack: 'Steel.' }), 1, [fault]);
    expect(plan).toMatchObject({ vision: 'Before.', technologyStack: 'Steel.' });
    expect(changedSections(before, plan)).toEqual(['technologyStack']);
  });

  it('takes tasks out of a component that is gone', () => {
    const before = { ...NO_PLAN, components: [component('Frame')], tasks: [task('a', [], { component: 'Frame' })] };
    const plan = withDraft(before, draft({ components: [component('Motor')] }), 1, []);
    expect(plan.tasks[0]?.component).toBeNull();
  });
});

describe('the hash of a plan', () => {
  const plan = { ...NO_PLAN, vision: 'It rings.', tasks: [task('a'), task('b'), task('c', ['a', 'b'])] };

  it('is the same for another white space and another order of dependencies', () => {
    const other = { ...plan, vision: ' It\n rings.', tasks: [task('a'), task('b'), task('c', ['b', 'a'])] };
    expect(planHashOf(other)).toBe(planHashOf(plan));
  });

  it('is another one for another word', () => {
    expect(planHashOf({ ...plan, vision: 'It sings.' })).not.toBe(planHashOf(plan));
  });
});

it.each([
  ['F1', true],
  ['F2', true],
  ['F3', false],
  ['F0', false],
  ['F01', false],
  ['f1', false],
])('%s is a finding of two: %s', (id, expected) => {
  expect(isFinding(id, 2)).toBe(expected);
});
