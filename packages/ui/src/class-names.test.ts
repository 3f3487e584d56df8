/**
 * Finds collisions of class names. One stylesheet is for all components, so a rule for a class alone reaches every element of
 * that class: such a class has one component, or the stylesheet's first line names it as common to several.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const sheet = readFileSync(path.join(import.meta.dirname, 'app.css'), 'utf8');
const common = /^\/\* Common to several components: ([\w\s-]+)\. \*\//.exec(sheet)?.[1]?.split(/\s+/) ?? [];

describe('A class that the stylesheet styles wherever it stands', () => {
  const collisions = (css: string, components: ReadonlyMap<string, string>): readonly string[] =>
    [...classesAlone(css)].flatMap((name) => {
      const users = [...components].filter(([, code]) => classNamesIn(code).has(name)).map(([file]) => file);
      return users.length > 1 ? [`${name}: ${users.join(', ')}`] : [];
    });

  it('belongs to one component, or is common to several by its stylesheet’s first line', () => {
    const found = collisions(sheet, componentsOf());
    const named = (collision: string): string => collision.slice(0, collision.indexOf(':'));
    expect(found.filter((collision) => !common.includes(named(collision)))).toEqual([]);
    expect(common).toEqual(found.map(named).toSorted());
  });

  it('is found in two components, by a text, a choice and a template, and not where it is styled below another class', () => {
    const components = new Map([
      ['a.tsx', '<td className="mark" /> <b className={isOn ? "on" : "off"} />'],
      ['b.tsx', '<b className={`mark ${kind === "on" ? "off" : ""}`} /> <i className="row" />'],
      ['c.tsx', '<i className="row" title="mark" />'],
    ]);
    const css = '.mark { color: red } .patch .row, tr.row { margin: 0 } @media print { .off:hover { color: red } }';
    expect(collisions(css, components)).toEqual(['mark: a.tsx, b.tsx', 'off: a.tsx, b.tsx']);
  });

  it('is not one of another stylesheet of the page, except the icons that it places', () => {
    const require = createRequire(import.meta.url);
    const others = ['uplot/dist/uPlot.min.css', '@vscode/codicons/dist/codicon.css'].map((file) =>
      readFileSync(require.resolve(file), 'utf8'),
    );
    const theirs = new Set(others.flatMap((css) => selectorsOf(css).flatMap(classesOf)));
    expect(theirs.size).toBeGreaterThan(100);
    expect([...classesAlone(sheet)].filter((name) => theirs.has(name))).toEqual(['codicon']);
  });
});

/** Source text of the components, by file name. */
function componentsOf(): ReadonlyMap<string, string> {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
  const components = files.filter((file) => file.endsWith('.tsx') && !file.includes('.fixture.'));
  return new Map(
    components.map((file) => [path.basename(file), readFileSync(path.join(import.meta.dirname, file), 'utf8')]),
  );
}

function selectorsOf(css: string): readonly string[] {
  const heads = css.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{};]+)\{/g);
  return [...heads].flatMap(([, head = '']) => head.split(/,(?![^(]*\))/)).map((selector) => selector.trim());
}

/** Classes that have a rule wherever they stand: with neither an element, another class nor an ancestor before them. */
function classesAlone(css: string): ReadonlySet<string> {
  return new Set(
    selectorsOf(css).flatMap((selector) => /^\.([\w-]+)(?::[\w-]+(?:\([^)]*\))?)*$/.exec(selector)?.[1] ?? []),
  );
}

function classesOf(selector: string): readonly string[] {
  return [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name = '']) => name);
}

/** All words of texts within `className`, those that a choice or a template has among them. */
function classNamesIn(code: string): ReadonlySet<string> {
  const values = [...code.matchAll(/className=(?:"([^"]*)"|(?=\{))/g)].map(
    ({ 1: text, 0: all, index }) => text ?? textsOf(bracedAt(code, index + all.length)),
  );
  return new Set(values.flatMap((value) => value.split(/[^\w-]+/)));
}

function bracedAt(code: string, start: number): string {
  let depth = 0;
  let end = start;
  do {
    if (code[end] === '{') depth += 1;
    if (code[end] === '}') depth -= 1;
    end += 1;
  } while (depth > 0 && end < code.length);
  return code.slice(start, end);
}

function textsOf(expression: string): string {
  return [...expression.matchAll(/'[^']*'|"[^"]*"|`[^`]*`/g)].join(' ');
}
