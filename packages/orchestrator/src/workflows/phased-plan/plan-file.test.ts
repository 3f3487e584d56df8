import { describe, expect, it } from 'vitest';
import { MAX_PHASES, readPlan, wavesOf } from './plan-file.ts';

const phasesOf = (text: string) => {
  const read = readPlan(text);
  if (!read.ok) throw new Error(read.faults.join('\n'));
  return read.plan.phases;
};
const faultsOf = (text: string) => {
  const read = readPlan(text);
  return read.ok ? [] : read.faults;
};
const dependenciesOf = (text: string) =>
  Object.fromEntries(phasesOf(text).map(({ number, dependsOn }) => [number, dependsOn]));

const FOUR = `---
title: "Sign-in"
dependencies: {2: [1], 3: [1]}
---
# Plan for sign-in

## Phase 1: Data model

Make the table.

### Success Criteria:

#### Automated Verification:
- [ ] the table exists
- [x] \`npm test\` passes

#### Manual Verification:
1. a person sees it

### Notes
- not a criterion

## Phase 2 - Routes
## Phase 3 — Screen
\`\`\`md
## Phase 9: in a fence, which depends on Phase 8
\`\`\`
## Phase 4
This phase depends on Phases 2 and 3.

## Open questions
depends on Phase 77
`;

describe('readPlan', () => {
  it('reads phases by heading, with the section of each and its success criteria', () => {
    const read = readPlan(FOUR);
    expect(read.ok && read.plan.title).toBe('Sign-in');
    const phases = phasesOf(FOUR);
    expect(phases.map(({ number, title }) => [number, title])).toEqual([
      [1, 'Data model'],
      [2, 'Routes'],
      [3, 'Screen'],
      [4, ''],
    ]);
    expect(phases[0]?.criteria).toEqual(['the table exists', '`npm test` passes', 'a person sees it']);
    expect(phases[0]?.text).toMatch(/^Make the table\.[^]*not a criterion$/);
    expect(phases[3]?.text).toBe('This phase depends on Phases 2 and 3.');
  });

  it('takes dependencies from front matter and from the text together, and lays them out in waves', () => {
    expect(dependenciesOf(FOUR)).toEqual({ 1: [], 2: [1], 3: [1], 4: [2, 3] });
    expect(wavesOf(phasesOf(FOUR))).toEqual([[1], [2, 3], [4]]);
  });

  it('takes phases one after the other where nothing else is said, by their numbers', () => {
    expect(dependenciesOf('# Phase 3\n# Phase 1\n# Phase 7: last\n')).toEqual({ 1: [], 3: [1], 7: [3] });
  });

  it.each([
    ['Depends on: 1, 2', [1, 2]],
    ['- **Depends on:** Phase 1 and Phase 2', [1, 2]],
    ['**Depends on**: Phases 1-2', [1, 2]],
    ['It depends on phase 2, because of the 3 tables of 1999.', [2]],
    ['Depends on: none', []],
    ['Depends on: Set up', [1]],
    ['**Dependencies:** Phase 1', [1]],
    ['**Dependencies**: none', []],
    ['- Dependencies: 1, 2', [1, 2]],
    ['Dependencies: Set up', [1]],
    ['Dependencies: express 4 and 1 more', [2]],
    ['The dependencies of Phase 1: see there.', [2]],
    ['Everything here depends on the database of 2019.', [2]],
    ['Depending on Phase 1 this may be quick.', [1]],
  ])('reads "%s"', (line, expected) => {
    const plan = `## Phase 1: Set up\n## Phase 2: More\n## Phase 3: Last\n${line}\n`;
    expect(dependenciesOf(plan)[3]).toEqual(expected);
  });

  it.each([
    'This does not depend on Phase 1.',
    'This does not in any way depend on Phase 1, which is done by then.',
    'It doesn\u2019t really depend on Phase 1.',
    "It doesn't use or depend on: Phase 1",
    'It no longer depends on Phase 1.',
    'It never depends on Phase 1, nor is it dependent on Phase 1.',
    'No part of this depends on Phase 1.',
    'It is built without depending on Phase 1.',
    'It is independent of Phase 1.',
    'This phase does not\ndepend on Phase 1.',
    'Phase 2 depends on Phase 1.',
    'Note that **Phase 2** also depends on Phase 1.',
    '- Phase 2 (search) depends on Phase 1',
    'It is independent of Phase 2, which strictly depends on Phase 1.',
    'Phases 4 and 2 depend on Phase 1.',
    '[Phase 2](#phase-2) will be dependent on Phase 1.',
    '| Phase 2 | depends on Phase 1 |',
    'Phase 2\ndepends on Phase 1.',
  ])('takes the phase after the one before it where a sentence is no marker: %j', (text) => {
    const plan = `## Phase 1: Set up\n## Phase 2: More\n## Phase 3: Last\n${text}\n## Phase 4: End\n`;
    expect(dependenciesOf(plan)[3]).toEqual([2]);
  });

  it.each([
    'This does not only depend on Phase 1, but is its successor.',
    'It is not hard, but depends on Phase 1.',
    'It cannot start early as it depends on Phase 1.',
    'Extends Phase 2 and depends on Phase 1.',
    'Like Phase 2, this depends on Phase 1.',
    'Like Phase 2, depends on Phase 1.',
    'The parser of Phase 2 is ready. Depends on Phase 1.',
    'Phases 2 to 4 depend on Phase 1.',
    'This does not depend on Phase 2. It depends on Phase 1.',
    'See also Phase 2\nDepends on Phase 1',
    'It is not done in Phase 2\n- Depends on: Phase 1',
    'Phase 3 depends on Phase 1.',
  ])('takes a marker beside denials and other phases: %j', (text) => {
    const plan = `## Phase 1: Set up\n## Phase 2: More\n## Phase 3: Not independent\n${text}\n## Phase 4: End\n`;
    expect(dependenciesOf(plan)[3]).toEqual([1]);
  });

  it('takes what the section of a phase says of another one for no dependency of its own', () => {
    const plan = '## Phase 1: A\n## Phase 2: B\nNote that Phase 3 depends on Phase 2.\n## Phase 3: C\n';
    expect(dependenciesOf(plan)).toEqual({ 1: [], 2: [1], 3: [2] });
  });

  it('reads dependencies of front matter in lines of their own', () => {
    const front = '---\nowner: me\ndependencies:\n  2: []\n  "3":\n    - 1\n    - 2 # both\nlast: 9\n---\n';
    expect(dependenciesOf(`${front}# Phase 1\n# Phase 2\n# Phase 3\n`)).toEqual({ 1: [], 2: [], 3: [1, 2] });
  });

  it('takes "### Phase 1 success criteria" inside phase 1 for a part of it', () => {
    const [phase] = phasesOf('## Phase 1: A\n### Phase 1 notes\n- x\n\n**Success Criteria:**\n- it works\n');
    expect(phase?.criteria).toEqual(['it works']);
    expect(phasesOf('## Phase 1 First things\n## Phase 2 More\n').map(({ title }) => title)).toEqual([
      'First things',
      'More',
    ]);
  });

  it.each([
    ['', /no phases/],
    ['# Plan\n\nDo it all.\n', /no phases/],
    ['# Phase 1\n# Phase 1: again\n', /2 phases with the number 1/],
    ['# Phase 1\nDepends on: Phase 1\n', /Phase 1 depends on itself/],
    ['# Phase 1\ndepends on Phase 9\n', /Phase 1 depends on phase 9, which is not there; the plan has 1/],
    ['# Phase 1\nDepends on: Setting up\n', /Phase 1 depends on 'Setting up'/],
    ['# Phase 1\ndepends on Phase 2\n# Phase 2\ndepends on Phase 1\n', /circle: Phase 1 → Phase 2 → Phase 1/],
    ['# Phase 1.5: half\n', /'Phase 1\.5: half' has no whole number/],
    ['# Phase 99999\n', /no whole number/],
    ['---\ndependencies: {4: [1]}\n---\n# Phase 1\n', /front matter's 'dependencies' name phase 4/],
    ['---\ndependencies: [1, 2]\n---\n# Phase 1\n', /cannot be read at '1'/],
    ['---\ndependencies: {2: !!js x}\n---\n# Phase 1\n', /cannot be read at '!'/],
    ['x'.repeat(5_000_000), /5000000 characters; at most 500000/],
    [`## Phase 3: A\n${'x'.repeat(50_001)}\n`, /section of phase 3 has 50001 characters; at most 50000/],
    [
      '# Phase 1: Same\n# Phase 2: same\n# Phase 3\nDepends on: Same\n',
      /'Same', which is the title of the phases 1, 2;/,
    ],
    ['# Phase 1\n```md\n# Phase 2\n', /block of code that begins in line 2 has no end/],
    ['---\ntitle: A\n---\n# Phase 1\n<!--\n# Phase 2\n', /comment that begins in line 5 has no end/],
    [Array.from({ length: 101 }, (_, index) => `# Phase ${index}`).join('\n'), /101 phases; at most 100/],
  ])('refuses by name: %.60j', (text, message) => {
    expect(faultsOf(text).join('\n')).toMatch(message);
  });

  it.each([
    '## \u{1f512} Phase 2: B',
    '## Phase Four',
    '## Phase Four: D',
    '## [Phase 3](x)',
    '## [x] Phase 3: Done',
    '## Phase #4',
    '## Phase No. 4',
    '## Phase-2: B',
    '## Phase2: B',
    '## Phase: 2',
    '## Phase \uff11',
    '## Phase \u0661',
    '## Phase IV: D',
    '## 2. Phase 2',
    '## <a id="x"></a>Phase 2',
    '#Phase 1:',
    '##Phase 2 - B',
    '## Phase 1-2: A',
    '## Phase 1\u20132: A',
    '## Phase 5/6',
    '## Phase 3\uff14',
    '### Phase 2.1: Part of another',
    '### Phase Two: Too deep',
    'Phase 2: B\n----------',
  ])('refuses a heading that looks like a phase and is read as none: %j', (heading) => {
    const [fault, ...others] = faultsOf(`# Phase 9: A\nText.\n\n${heading}\nMore.\n`);
    expect(fault).toContain(`The heading '${heading.split('\n')[0]?.replace(/^#+ /, '')}'`);
    expect(others).toEqual([]);
  });

  it.each([
    '## About the phases',
    '### Phase notes',
    '## Phases',
    '## Phase two-factor sign-in in',
    '## Phase-out of version 1',
    '## Phasing 2',
    '#### Phase 1.1',
    '#### Phase 1b: the rest',
    '#phase',
    'Phase 2 comes later.',
    '    ## Phase Four',
  ])('takes an ordinary heading or line for text: %j', (line) => {
    expect(phasesOf(`## Phase 1: A\n\n${line}\n\nText.\n## Phase 2: B\n`)).toHaveLength(2);
  });

  it('takes a space that keeps a heading together for a space', () => {
    expect(phasesOf('## Phase\u00a03:\u00a0Views\n')).toMatchObject([{ number: 3, title: 'Views' }]);
  });

  it.each([
    ['a line of code', '```node --test```'],
    ['a fence with tildes and a word', '~~~ `md`\n## Phase 9\n~~~'],
    ['a fence in a list item', '- ```md\n  ## Phase 9\n  ```'],
    ['a fence in an item of an item', '1. - ```md\n     ## Phase 9\n     ```'],
    ['a fence that ends with its item', '- ```md\n  ## Phase 9\nText'],
    ['a fence within a fence', '````md\n```\n## Phase 9\n```\n````'],
  ])('knows %s', (_what, text) => {
    const phases = phasesOf(`## Phase 1: A\n${text}\n## Phase 2: B\n`);
    expect(phases.map(({ number }) => number)).toEqual([1, 2]);
  });

  it('takes no phase and no marker from a comment in HTML, which nobody sees who reads the plan as a page', () => {
    const plan =
      '<!-- drafts\n## Phase 8: Later\n-->\n## Phase 1: A\n<!-- depends on Phase 8 -->\n## Phase 2: B\nText.\n';
    expect(dependenciesOf(plan)).toEqual({ 1: [], 2: [1] });
    expect(phasesOf('```\n<!--\n```\n## Phase 1: After a fence\n')).toHaveLength(1);
  });

  it('names the first faults of a plan that has very many', () => {
    const faults = faultsOf(`# Phase 1\n${'Depends on: nothing like it\nDepends on: foo\n'.repeat(10_000)}`);
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)).toMatch(/^… and \d+ more\.$/);
  });

  it('takes linear time of a text that a stranger wrote', () => {
    const parts = [
      '# ',
      'depends on ',
      'depends on Phase 1',
      'Phase 2, not ',
      'Phase 2 (',
      ') depends on ',
      '`',
      '#'.repeat(50),
      '- ',
      '**',
      'Dependencies: ',
      '- ```',
      '- ```\n',
      '# [Phase ',
      '# ![a](b)<a>',
      '#Phase',
      '\u00a0',
      '<',
      '\n',
      ' ',
    ];
    // Where the time grows with the square, one of these takes minutes.
    const started = process.cpuUsage();
    for (const part of parts) readPlan(`# Phase 1\n${part.repeat(Math.floor(480_000 / part.length))}`);
    const many = Array.from({ length: MAX_PHASES }, (_, n) => `# Phase ${n}\n${'depends on Phase 1, '.repeat(200)}`);
    readPlan(many.join('\n'));
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(20_000);
  });
});
