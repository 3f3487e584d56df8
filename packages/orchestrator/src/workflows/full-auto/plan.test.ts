/** Plans as files of a project. */
import { describe, expect, it } from 'vitest';
import { planPathIn, readPlan } from './plan.ts';

const task = { id: 'T1', title: 'A bell', description: 'It rings.', component: null, dependencies: [] };
const plan = { topic: 'Bells', components: [{ name: 'core', purpose: 'Rings' }], tasks: [task] };

describe('a plan', () => {
  it('is told to the agent with all that it has', () => {
    const read = readPlan('plan.json', JSON.stringify({ ...plan, vision: 'Loud.' }));
    expect(read.ok && JSON.parse(read.text)).toEqual({ ...plan, vision: 'Loud.' });
    expect(read).toMatchObject({ tasks: ['T1'] });
  });

  it.each([
    ['no JSON', '# Plan', /^plan\.json is no plan: it is not JSON/],
    ['no tasks', JSON.stringify({ ...plan, tasks: [] }), /^plan\.json is no plan: tasks: /],
    ['a task of another shape', JSON.stringify({ ...plan, tasks: [{ ...task, title: 7 }] }), /tasks\.0\.title/],
    ['too long', ' '.repeat(400_001), /has 400001 characters, and at most 200000/],
    [
      'longer than an agent is told',
      JSON.stringify({ ...plan, vision: 'l'.repeat(200_000) }),
      /has 200\d{3} characters, and at most 200000 are taken\. Divide it/,
    ],
    ['with an id twice', JSON.stringify({ ...plan, tasks: [task, task] }), /two tasks have the id 'T1'/],
  ])('is refused with its path: %s', (_, text, fault) => {
    expect(readPlan('plan.json', text)).toEqual({ ok: false, fault: expect.stringMatching(fault) });
  });
});

it('is found by its path, or by the folder in which it is the only one', () => {
  const files = [
    'docs/research-bells/bells-plan.json',
    'docs/research-bells/bells-plan.tex',
    'docs/two/a-plan.json',
    'docs/two/b-plan.json',
  ];
  expect(planPathIn('docs/research-bells/bells-plan.json', files)).toBe(files[0]);
  expect(planPathIn('./docs/research-bells/', files)).toBe(files[0]);
  expect(planPathIn('docs/two', files)).toBeNull();
  expect(planPathIn('docs/none', files)).toBeNull();
});

it('takes a plan with a byte order mark, and refuses what is no text of its own', () => {
  expect(readPlan('p.json', `\uFEFF${JSON.stringify(plan)}`)).toMatchObject({ ok: true, tasks: ['T1'] });
  const faultOf = (file: string | undefined) => {
    const read = readPlan('p.json', file);
    return read.ok ? null : read.fault;
  };
  expect(faultOf(undefined)).toMatch(/^p\.json is no plan: it is a link, or has more than 1600000 bytes/);
  expect(faultOf(JSON.stringify(plan).replace('A bell', 'A b\uFFFDll'))).toMatch(
    /^p\.json is no plan: it is not UTF-8 text/,
  );
});
