/** Files that hold both product and tests, with the base's sections of runners in them. */
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { restoreRunnerSections, restoreScripts } from './runner-sections.ts';

describe('files with sections of runners beside others', () => {
  it('have the base’s sections, and keep dependencies and metadata of the result', () => {
    const base = '[project]\nname = "sums"\ndependencies = []\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n';
    const result =
      '[project]\nname = "sums"\ndependencies = ["rich"]\n\n[tool.pytest.ini_options]\naddopts = "--collect-only"\n\n[tool.ruff]\nline-length = 100\n';
    expect(parse(restoreRunnerSections('pyproject.toml', base, result) ?? '')).toEqual({
      project: { name: 'sums', dependencies: ['rich'] },
      tool: { pytest: { ini_options: { testpaths: ['tests'] } }, ruff: { 'line-length': 100 } },
    });
    const setup = '[metadata]\nname = sums\n\n[tool:pytest]\naddopts = --collect-only\n';
    expect(restoreRunnerSections('setup.cfg', '[metadata]\nname = old\n', setup)).toBe('[metadata]\nname = sums\n\n');
    expect(restoreRunnerSections('setup.cfg', '', '[metadata]\nname = a\n [tool:pytest]\n')).toBe('');
    expect(
      restoreRunnerSections(
        'deno.json',
        '{"tasks":{"test":"deno test"}}',
        '{"tasks":{"test":"true"},"imports":{"a":"b"}}',
      ),
    ).toBe('{"tasks":{"test":"deno test"},"imports":{"a":"b"}}');
  });

  it.each(['\r', '\r\n', '\n'])('are found where lines end with %j, as configparser and pytest find them', (end) => {
    const setup = ['[metadata]', 'name = sums', '', '[tool:pytest]', 'addopts = -p fast', ''].join(end);
    expect(restoreRunnerSections('setup.cfg', '', setup)).toBe('[metadata]\nname = sums\n\n');
    const base = ['[tool:pytest]', 'testpaths = tests', ''].join(end);
    expect(restoreRunnerSections('setup.cfg', base, setup)).toBe(
      '[metadata]\nname = sums\n\n[tool:pytest]\ntestpaths = tests\n',
    );
  });

  it.each(['\v', '\f', '\x1c', '\x1e', '\x85', '\u2028', '\u2029'])(
    'are those of the base’s file where %j ends lines for one reader and not for another',
    (end) => {
      const base = '[metadata]\nname = sums\n';
      expect(restoreRunnerSections('setup.cfg', base, `${base}x = 1${end}[tool:pytest]${end}addopts = -p fast\n`)).toBe(
        base,
      );
    },
  );

  it.each(['\t', ' ', '\xa0', '\x1f'])('are those of the base’s file where a header is indented with %j', (space) => {
    expect(restoreRunnerSections('setup.cfg', '', `[metadata]\nname = a\n${space}[tool:pytest]\n`)).toBe('');
  });

  it('are read with comments where Deno reads them so', () => {
    const base = '{ "tasks": { "test": "deno test" } }';
    expect(restoreRunnerSections('deno.json', base, '{ // ours\n "tasks": { "test": "true" } }')).not.toContain('true');
    expect(restoreRunnerSections('deno.jsonc', `// ours\n${base}`, '{ "tasks": { "test": "true", }, }')).not.toContain(
      'true',
    );
    expect(restoreRunnerSections('deno.jsonc', base, 'garbage')).toBe(base);
  });

  it('are given as they are, to the byte, where no section of a runner differs', () => {
    const base = '# ours\n[project]\nname = "sums"\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n';
    const result = base.replace('name = "sums"', 'name = "sums"\nversion = "2"');
    expect(restoreRunnerSections('pyproject.toml', base, result)).toBe(result);
    expect(restoreRunnerSections('Cargo.toml', '', '[dependencies]\nserde = "1"\n')).toBe(
      '[dependencies]\nserde = "1"\n',
    );
  });

  it('are there where the result has removed them: runners would take another file', () => {
    expect(restoreRunnerSections('pyproject.toml', '[tool.pytest]\n', null)).toBe('[tool.pytest]\n');
  });
});

describe('package.json with the base’s scripts', () => {
  const base = {
    name: 'shop',
    scripts: { test: 'vitest run', build: 'tsc' },
    jest: { bail: true },
    dependencies: { hono: '4.0.0' },
  };
  const text = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

  it('keeps everything of the result but scripts and test-runner settings', () => {
    const result = {
      name: 'shop2',
      scripts: { test: 'true', evil: 'x' },
      dependencies: { hono: '5.0.0' },
      vitest: { include: [] },
      type: 'module',
    };
    expect(restoreScripts(text(base), text(result))).toBe(
      text({
        name: 'shop2',
        scripts: base.scripts,
        dependencies: { hono: '5.0.0' },
        type: 'module',
        jest: { bail: true },
      }),
    );
  });

  it('removes scripts that the base does not have', () => {
    expect(restoreScripts('{"name":"a"}', text({ name: 'a', scripts: { test: 'true' } }))).toBe(text({ name: 'a' }));
  });

  it('gives the result as it is, to the byte, when scripts and settings are the base’s', () => {
    const odd = '{ "scripts":{"test":"vitest run","build":"tsc"},\n\n\t"jest": {"bail":true}, "version": "2.0.0" }';
    expect(restoreScripts(text(base), odd)).toBe(odd);
  });

  it('notices a change of order alone, in which pre and post scripts do not matter but nothing is lost', () => {
    const result = text({ ...base, scripts: { build: 'tsc', test: 'vitest run' } });
    expect(JSON.parse(restoreScripts(text(base), result))).toEqual(base);
  });

  it.each([
    [
      'tabs',
      JSON.stringify({ name: 'a', scripts: {} }, null, '\t'),
      /^\{\n\t"name": "a",\n\t"scripts": \{\n\t\t"test"/,
    ],
    [
      'four spaces and no end of line',
      JSON.stringify({ name: 'a', scripts: {} }, null, 4),
      /^\{\n {4}"name": "a",[^]*\}$/,
    ],
    [
      'Windows line ends',
      text({ name: 'a', scripts: {} }).replaceAll('\n', '\r\n'),
      /^\{\r\n {2}"name": "a",\r\n[^]*\}\r\n$/,
    ],
    ['one line', '{"name":"a","scripts":{}}', /^\{"name":"a","scripts":\{"test":"vitest run","build":"tsc"\},"jest":/],
  ])('keeps the result’s %s', (_what, result, expected) => {
    expect(restoreScripts(text(base), result)).toMatch(expected);
  });

  it('gives the result as it is when either is no JSON object', () => {
    expect(restoreScripts('{', '{"scripts":{"test":"true"}}')).toBe('{"scripts":{"test":"true"}}');
    expect(restoreScripts(text(base), '[1]')).toBe('[1]');
    expect(restoreScripts(text(base), 'garbage')).toBe('garbage');
  });

  it('has the base’s scripts whatever both hold, and loses no other key', () => {
    const manifest = fc.dictionary(
      fc.constantFrom('name', 'scripts', 'jest', 'files', '__proto__', 'c8', '1'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(manifest, manifest, (one, two) => {
        const [was, is] = [JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(two))];
        const restored = JSON.parse(restoreScripts(JSON.stringify(was), JSON.stringify(is)));
        for (const key of ['scripts', 'jest', 'c8']) expect(restored[key]).toEqual(was[key]);
        for (const key of ['name', 'files', '1']) expect(restored[key]).toEqual(is[key]);
      }),
    );
  });
});
