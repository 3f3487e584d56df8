/**
 * The names of the shipped workflows, and a reader that reports where sources outside a workflow's folder use one of them.
 * Names that the core, the parts of workflows or the contract declare for every workflow are not counted as a workflow's own.
 */
import { CHANGES_TYPE, COMMON_GATES } from '@autonomous/shared';
import { DECISION_SIGNALS, emissionFault, signalFault } from '../src/core/vocabulary.ts';
import { decisionSignals } from '../src/workflows/parts/signals.ts';
import { type Workflow, withChildren } from '../src/workflows/workflow.ts';
import type { SourceFile } from './layers.ts';

export type NameKind = 'workflow' | 'role' | 'stage' | 'trust mode' | 'gate' | 'document' | 'event';

export interface WorkflowName {
  readonly name: string;
  /** All things of that name, such as a stage and a trust mode. */
  readonly kinds: readonly NameKind[];
}

/** Use of a workflow's name outside the folders of workflows. */
export interface NameUse {
  /** Relative to `packages/`. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly name: string;
}

/** All names of the workflows and of their children that no other part of the product declares. */
export function namesOf(workflows: readonly Workflow[]): readonly WorkflowName[] {
  const kinds = new Map<string, Set<NameKind>>();
  for (const [name, kind] of withChildren(workflows).flatMap(ownNamesOf)) {
    if (!isCommon(name, kind)) kinds.set(name, (kinds.get(name) ?? new Set()).add(kind));
  }
  return [...kinds].map(([name, all]) => ({ name, kinds: [...all] }));
}

function ownNamesOf(workflow: Workflow): readonly (readonly [string, NameKind])[] {
  const { name, roles, stages, trustModes, gates, documents, versions, events: emitted = {} } = workflow;
  const received = versions.flatMap(({ signals, machine }) => [...Object.keys(signals), ...machine.events]);
  const events = [...received, ...Object.keys(emitted)];
  return [
    [name, 'workflow'],
    ...roles.map(({ role }) => [role.name, 'role'] as const),
    ...stages.map((stage) => [stage.name, 'stage'] as const),
    ...trustModes.map((mode) => [mode.name, 'trust mode'] as const),
    ...Object.keys(gates).map((kind) => [kind, 'gate'] as const),
    ...Object.keys(documents).map((type) => [type, 'document'] as const),
    ...events.map((type) => [type, 'event'] as const),
  ];
}

/** Names that every workflow has, or that the core or the parts of workflows declare. */
function isCommon(name: string, kind: NameKind): boolean {
  if (kind === 'gate') return Object.hasOwn(COMMON_GATES, name);
  if (kind === 'document') return name === CHANGES_TYPE;
  if (kind !== 'event') return false;
  const isOfCore =
    signalFault(name) !== null ||
    emissionFault(name, {}) !== null ||
    Object.values(DECISION_SIGNALS).some((signals) => signals.includes(name));
  return isOfCore || Object.hasOwn(decisionSignals, name);
}

/**
 * Every use of a name in sources that ship, outside the folders of workflows: as a whole string, as the name of an option, as a
 * key of an object, as a member that is read of one, and, for roles and names of several words, as a word of a longer string.
 */
export function findNames(files: readonly SourceFile[], names: readonly WorkflowName[]): readonly NameUse[] {
  return files.filter(({ path }) => isRead(path)).flatMap((file) => usesIn(file, names));
}

/** Path that stands for the texts of the editor's manifest. */
export const MANIFEST = 'vscode-extension/package.json';

/**
 * The titles of commands and settings that the editor's manifest shows, as a source with a string a line. In lower case, since
 * titles are written with capitals.
 * @param manifest the file's text
 */
export function manifestTexts(manifest: string): SourceFile {
  const titles = [...manifest.matchAll(/"(?:title|description|markdownDescription|contents)": ("(?:[^"\\]|\\.)*")/g)];
  return { path: MANIFEST, source: titles.map(([, text = '""']) => text.toLowerCase()).join(',\n') };
}

function isRead(path: string): boolean {
  if (path === MANIFEST) return true;
  if (!/^[^/]+\/src\//.test(path) || /\.(?:test|contract|fixture)\.tsx?$/.test(path)) return false;
  const [, folder] = /^orchestrator\/src\/workflows\/([^/]+)\//.exec(path) ?? [];
  return folder === undefined || folder === 'parts';
}

function usesIn({ path, source }: SourceFile, names: readonly WorkflowName[]): readonly NameUse[] {
  const { strings, code } = partsOf(source);
  const lineOf = (index: number): number => source.slice(0, index).split('\n').length;
  return names.flatMap(({ name, kinds }) => {
    if (!source.includes(name)) return [];
    const keys = code.matchAll(new RegExp(`(?<=[{,]\\s*)${name}:(?!:)`, 'g'));
    const members = isSetting(kinds)
      ? code.matchAll(new RegExp(`(?<=[{,]\\s*|\\.)${name}(?=\\s*[,}.;)\\]])`, 'g'))
      : [];
    const found = [
      ...strings.filter(({ text }) => isNamedIn(text, name, kinds)).map(({ index }) => index),
      ...[...keys].filter(({ index }) => isInBraces(code, index)).map(({ index }) => index),
      ...[...members]
        .filter(({ index }) => code[index - 1] === '.' || isInBraces(code, index))
        .map(({ index }) => index),
    ];
    const lines = [...new Set(found.map(lineOf))];
    return lines.map((line) => ({ path, line, name }));
  });
}

/** Roles, stages and trust modes are keys of a run's configuration. */
function isSetting(kinds: readonly NameKind[]): boolean {
  return kinds.some((kind) => kind === 'role' || kind === 'stage' || kind === 'trust mode');
}

/** Whether the innermost bracket around a place is a brace: a key of an object and not a parameter. */
function isInBraces(code: string, index: number): boolean {
  let closed = 0;
  for (let at = index - 1; at >= 0; at -= 1) {
    const character = code.charAt(at);
    if (')]}'.includes(character)) closed += 1;
    else if ('([{'.includes(character) && closed > 0) closed -= 1;
    else if ('([{'.includes(character)) return character === '{';
  }
  return false;
}

function isNamedIn(text: string, name: string, kinds: readonly NameKind[]): boolean {
  if (!text.includes(name)) return false;
  if (text === name || new RegExp(`^--${name}(?:$|[ =])`).test(text)) return true;
  const isTelling = name.includes('_') || kinds.includes('role');
  return isTelling && new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text);
}

interface Parts {
  /** Contents of string literals and of the constant pieces of templates, with the place of each. */
  readonly strings: readonly { readonly index: number; readonly text: string }[];
  /** The source with comments and strings blanked, of the same length. */
  readonly code: string;
}

const TOKENS =
  /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=[(,=:[!&|?{};\n]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|[`{}]/g;

/** Splits a source into its strings and the rest. A template's expressions belong to the rest. */
function partsOf(source: string): Parts {
  const strings: { index: number; text: string }[] = [];
  const code: string[] = [];
  /** One entry an open brace: true for that of a template's expression. */
  const braces: boolean[] = [];
  let at = 0;
  const blank = (end: number): void => {
    code.push(source.slice(at, end).replaceAll(/[^\n]/g, ' '));
    at = end;
  };
  const readTemplate = (): void => {
    const piece = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;
    piece.lastIndex = at;
    strings.push({ index: at, text: piece.exec(source)?.[0] ?? '' });
    const isExpression = source.startsWith('${', piece.lastIndex);
    if (isExpression) braces.push(true);
    blank(piece.lastIndex + (isExpression ? 2 : 1));
  };
  while (at < source.length) {
    TOKENS.lastIndex = at;
    const found = TOKENS.exec(source);
    if (found === null) break;
    const [token] = found;
    code.push(source.slice(at, found.index));
    at = found.index;
    if (token === '`') {
      blank(at + 1);
      readTemplate();
    } else if (token === '{' || token === '}') {
      const isEndOfExpression = token === '}' && braces.pop() === true;
      if (token === '{') braces.push(false);
      code.push(token);
      at += 1;
      if (isEndOfExpression) readTemplate();
    } else {
      if (/^['"]/.test(token) && !source.slice(at - 10, at).endsWith('className='))
        strings.push({ index: at, text: token.slice(1, -1) });
      blank(at + token.length);
    }
  }
  return { strings, code: code.join('') + source.slice(at) };
}
