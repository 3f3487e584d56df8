import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { mutantsOf } from './mutants/operators.mjs';
import { drawMutants, placeMutant } from './mutants/places.mjs';

const root = path.dirname(import.meta.dirname);
const place = mkdtempSync(path.join(tmpdir(), 'autonomous-mutants-test-'));
afterAll(() => rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));

it.each([
  ['a condition', 'if (a) b();', ['if (true) b();', 'if (false) b();', 'if (!(a)) b();', 'if (a) ;']],
  [
    'a comparison',
    'while (a < 2) b = 1;',
    ['while (a <= 2) b = 1;', 'while (a < 3) b = 1;', 'while (a < 2) b = 2;', 'while (a < 2) ;'],
  ],
  ['a choice', 'const a = b && !c;', ['const a = b || !c;', 'const a = b && c;']],
  ['a sum', 'const a = b + c++;', ['const a = b - c++;', 'const a = b + c--;']],
  ['a string that decides', `const a = b === 'c';`, [`const a = b !== 'c';`, `const a = b === '';`]],
  [
    'an answer by its type',
    'const a = (): boolean => b();',
    ['const a = (): boolean => true;', 'const a = (): boolean => false;'],
  ],
  ['a quantifier', 'const a = b.some(c);', ['const a = b.every(c);']],
  ['a type', 'type A = 1 | 2; const a = b as 1;', []],
  ['a message', 'console.log(a ? 1 : 2); const b = { message: c ? 1 : 2 }; const d = `${e ? 1 : 2}`;', []],
  [
    'the text of an error',
    'if (a) throw new TypeError(b ? 1 : 2);',
    ['true', 'false', '!(a)'].map((test) => `if (${test}) throw new TypeError(b ? 1 : 2);`).concat('if (a) ;'),
  ],
  ['an optional chain and a text', `const a = b?.c ?? 'd'; const e = 'f' + g;`, []],
])('mutants of %s change what it decides', (_, source, expected) => {
  const changed = mutantsOf('a.ts', source).map(
    ({ offset, old, text }) => source.slice(0, offset) + text + source.slice(offset + old.length),
  );
  expect(changed.toSorted()).toEqual(expected.toSorted());
});

it('a seed draws the same mutants again, one of a line and from one group', () => {
  const drawn = drawMutants(root, 'decisions', 'a', 300);
  expect(drawMutants(root, 'decisions', 'a', 300)).toEqual(drawn);
  expect(drawMutants(root, 'decisions', 'b', 300)).not.toEqual(drawn);
  expect(new Set(drawn.map(({ file, line }) => `${file}:${line}`)).size).toBe(300);
  for (const mutant of drawn) {
    const { file, mutated } = placeMutant(mutant, [mutant.file], (name) => readFileSync(path.join(root, name), 'utf8'));
    expect(mutantsOf(file, mutated)).not.toEqual([]);
  }
  const others = new Set(drawMutants(root, 'engine', 'a', 1_000_000).map(({ file }) => file));
  expect(drawn.filter(({ file }) => others.has(file))).toEqual([]);
});

it('a mutant is placed by its lines where the file has moved, and nowhere when they are gone or are there twice', () => {
  const mutant = { file: 'old/a.ts', block: '  if (a > 1) b();', above: '{', nth: 0, column: 8, old: '>', text: '>=' };
  const placed = (source) => placeMutant(mutant, ['new/a.ts', 'new/b.ts'], () => source)?.mutated;
  expect(placed('//\n{\n  if (a > 1) b();\n}\n')).toBe('//\n{\n  if (a >= 1) b();\n}\n');
  expect(placed('(\n  if (a > 1) b();\n{\n  if (a > 1) b();')).toBe('(\n  if (a > 1) b();\n{\n  if (a >= 1) b();');
  expect(placed('if (a > 1) b();')).toBeUndefined();
  expect(placed('  if (a > 1) b();\n  if (a > 1) b();')).toBeUndefined();
});

it('tells a mutant that a test notices from one that none does, goes on after a stop, and takes the rest again', () => {
  const files = {
    'package.json': '{}',
    'tools/run.mjs': '',
    'tools/slow-tests.mjs': `export const SLOW_TESTS = { 'slow.test.mjs': 1 };`,
    'vitest.config.mjs': `export default { test: { globals: true, pool: 'forks' } };`,
    'moved/ages.mjs': AGES,
    'quick.test.mjs': `import { countdown, isAdult } from './moved/ages.mjs';\nit('counts', () => expect(countdown(3)).toBe(3));\nit('knows adults', () => expect([3, 30].map(isAdult)).toEqual([false, true]));`,
    'slow.test.mjs': `import { isOld } from './moved/ages.mjs';\nit('knows old people', () => expect(isOld(3)).toBe(false));`,
    'red.test.mjs': `import './moved/ages.mjs';\nit('is red anyway', () => expect(1).toBe(2));`,
  };
  const tree = path.join(place, 'tree');
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
    writeFileSync(path.join(tree, name), source);
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(place, 'node_modules'));
  for (const command of ['init --quiet', 'add .', '-c user.name=a -c user.email=a@b commit --quiet --message a'])
    expect(spawnSync('git', command.split(' '), { cwd: tree }).status).toBe(0);
  const list = path.join(place, 'list.jsonl');
  const swapped = { group: 'g', above: '', nth: 0, file: 'src/ages.mjs', what: 'swapped' };
  const [adult, old, count] = AGES.split('\n');
  const mutants = [
    { ...swapped, id: 'negated', line: 1, block: adult, column: adult.indexOf('>='), old: '>=', text: '<' },
    { ...swapped, id: 'boundary', line: 1, block: adult, column: adult.indexOf('>='), old: '>=', text: '>' },
    { ...swapped, id: 'slow', line: 2, above: adult, block: old, column: old.lastIndexOf('>'), old: '>', text: '<' },
    {
      ...swapped,
      id: 'endless',
      line: 3,
      above: old,
      block: count,
      column: count.indexOf('--'),
      old: '--',
      text: '++',
    },
    { ...swapped, id: 'gone', line: 4, block: 'gone', column: 0, old: 'gone', text: '' },
  ];
  const write = (rows) => writeFileSync(list, rows.map((row) => JSON.stringify(row)).join('\n'));

  write(mutants.slice(0, 1));
  expect(runMutants('--from', list).stdout).toContain('1 of 1 mutants.\ng: 1 of 1 (100.0 %) found (1 killed');
  write(mutants);
  const { stdout } = runMutants('--from', list);
  expect(stdout).not.toContain('1 of 5: ');
  expect(stdout).toContain('red.test.mjs fails without any change and is left out');
  expect(stdout).toContain('g: 3 of 4 (75.0 %) found (2 killed, 1 endless), 1 survived');
  expect(stdout).toContain('1 not in this tree. Quick tests find 2 of 3 (66.7 %) of those found.');
  expect(stdout).toContain(
    `src/ages.mjs:1 swapped; 2 of 3 test files passed (boundary)\n- ${adult}\n+ ${adult.replace('>=', '>')}`,
  );
  const results = readFileSync(stdout.match(/Results: (.*)/)[1], 'utf8');
  write(
    results
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
  expect(runMutants('--from', list, '--unkilled', '--report').stdout).toContain('2 of 2 mutants.');

  function runMutants(...more) {
    const script = path.join(import.meta.dirname, 'mutants.mjs');
    const ours = ['--tree', tree, '--out', path.join(place, 'out'), '--workers', '1', '--seconds', '6'];
    return spawnSync(process.execPath, [script, ...ours, ...more], { encoding: 'utf8' });
  }
});

const AGES =
  'export const isAdult = (age) => age >= 18;\nexport const isOld = (age) => age > 80;\nexport const countdown = (from) => { let n = 0; while (from > 0) { from--; n += 1; } return n; };\n';
