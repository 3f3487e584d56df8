import { expect, it } from 'vitest';
import { manifestFaults } from './manifest-faults.ts';

const faultOf = (path: string, text: string) => manifestFaults(new Map([[path, text]]))[0] ?? null;

it.each([
  ['package.json', '{\n  "name": "x",\n  "scripts": {\n    "test": "jest",\n  }\n}\n', 5],
  ['package.json', '{\n  "name": "x"\n', 3],
  ['package.json', '<<<<<<< HEAD\n{}\n', 1],
  ['pyproject.toml', '[project]\nname = "x"\nversion = \n', 3],
  ['Cargo.toml', '[package]\nname = x\n', 2],
])('names the line of %s %j', (path, text, line) => {
  expect(faultOf(path, text)).toMatchObject({ path, line, message: expect.stringMatching(/^.{5,200}$/) });
});

it.each([
  ['package.json', '\ufeff{}'],
  ['pyproject.toml', '[project]\nname = "x"\n'],
  ['Cargo.toml', ''],
])('finds none in %s %j', (path, text) => {
  expect(faultOf(path, text)).toBeNull();
});

it('names a manifest that is nested too deep', async () => {
  const { readForeignText } = await import('../../foreign-text/foreign-text.ts');
  const texts = new Map([['package.json', '['.repeat(900_000)]]);
  const fault = { path: 'package.json', line: null, message: 'it is nested too deep' };
  expect(await readForeignText('manifestFaults', [texts])).toEqual({ ok: true, value: [fault] });
});
