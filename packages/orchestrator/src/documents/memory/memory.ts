/**
 * `.autonomous/memory.md`: what a project's runs leave for the next ones. People edit it too, so what is not understood is kept
 * as it is. Pure.
 */
import type { RunDecision } from '@autonomous/shared';
import { type Document, isMap, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import { yamlFault } from '../front-matter.ts';
import { entryOf, flat, headings, join } from './memory-lines.ts';
import { SOLUTIONS, type SolutionUpdate, withSolutions } from './solution-memory.ts';

export const MEMORY_PATH = '.autonomous/memory.md';
/** Characters of all stacks and patterns of a project. */
const MAX_FRONT_MATTER = 64_000;

export interface ProjectMemory {
  readonly project: string | null;
  /** Dates as `YYYY-MM-DD`. */
  readonly createdAt: string | null;
  readonly lastUpdated: string | null;
  readonly techStack: readonly string[];
  readonly patterns: readonly string[];
  readonly pastDecisions: readonly PastDecision[];
  /** Parts that could not be read, in words for a person. */
  readonly notices: readonly string[];
}

export interface PastDecision {
  readonly date: string;
  readonly title: string;
  readonly runId: string;
  readonly lines: readonly string[];
}

export interface MemoryUpdate extends SolutionUpdate {
  readonly project: string;
  readonly title: string;
  readonly decisions: readonly RunDecision[];
  readonly techStack: readonly string[];
  readonly patterns: readonly string[];
}

export interface ExtendedMemory {
  readonly text: string;
  /** Parts that a person should check; the file was changed as far as was safe. */
  readonly notices: readonly string[];
}

/** Reads a memory file; a malformed one gives what could be read and a notice, never an error. */
export function parseMemory(text: string): ProjectMemory {
  const { frontMatter, body } = split(text);
  const notices = frontMatter.kind === 'malformed' ? [frontMatter.notice] : [];
  const yaml = frontMatter.kind === 'read' ? frontMatter.yaml : null;
  return {
    project: scalarOf(yaml, 'project'),
    createdAt: scalarOf(yaml, 'createdAt'),
    lastUpdated: scalarOf(yaml, 'lastUpdated'),
    techStack: listOf(yaml, 'techStack') ?? [],
    patterns: listOf(yaml, 'patterns') ?? [],
    pastDecisions: pastDecisionsOf(body),
    notices,
  };
}

/**
 * The file with one run's decisions, stack, patterns and solutions added. Extending again for the same run changes nothing.
 * Everything else stays: other keys, comments, and whatever a person wrote. A malformed front matter is left alone.
 * @param text the file as it is; `null` where there is none
 */
export function extendMemory(text: string | null, update: MemoryUpdate): ExtendedMemory {
  const current = text ?? '';
  const eol = current.includes('\r\n') ? '\r\n' : '\n';
  const { bom, frontMatter, rawFrontMatter, body } = split(current);
  const isNew = !body.split('\n').some((line) => entryOf(line)?.runId === update.runId);
  const extendedBody = isNew ? withSolutions(withEntry(body, update, eol), update, eol) : body;

  switch (frontMatter.kind) {
    case 'malformed':
      return { text: bom + rawFrontMatter + extendedBody, notices: [frontMatter.notice] };
    case 'absent': {
      const lists = { techStack: union([], update.techStack), patterns: union([], update.patterns) };
      const yaml = stringify(
        { project: flat(update.project), createdAt: update.date, lastUpdated: update.date, ...lists },
        { lineWidth: 0 },
      );
      const header = `---\n${yaml}---\n\n`.replaceAll('\n', eol);
      return { text: bom + header + extendedBody, notices: [] };
    }
    case 'read': {
      const { yaml } = frontMatter;
      const notices = [
        ...extendList(yaml, 'techStack', update.techStack),
        ...extendList(yaml, 'patterns', update.patterns),
      ];
      const grew = yaml.toString({ lineWidth: 0 }) !== frontMatter.rendered;
      if (!grew && !isNew) return { text: current, notices };
      if (!yaml.has('project')) yaml.set('project', flat(update.project));
      if (!yaml.has('createdAt')) yaml.set('createdAt', update.date);
      if ((scalarOf(yaml, 'lastUpdated') ?? '') < update.date) yaml.set('lastUpdated', update.date);
      const gap = body.trim() === '' ? '\n' : '';
      const header = `---\n${yaml.toString({ lineWidth: 0 })}---\n${gap}`.replaceAll('\n', eol);
      return { text: bom + header + extendedBody, notices };
    }
    default:
      return frontMatter satisfies never;
  }
}

type FrontMatter =
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly notice: string }
  | { readonly kind: 'read'; readonly yaml: Document; readonly rendered: string };

interface SplitMemory {
  readonly bom: string;
  readonly frontMatter: FrontMatter;
  readonly rawFrontMatter: string;
  readonly body: string;
}

function split(text: string): SplitMemory {
  const bom = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const rest = text.slice(bom.length);
  const opening = /^---[ \t]*\r?\n/.exec(rest)?.[0];
  if (opening === undefined) return { bom, frontMatter: { kind: 'absent' }, rawFrontMatter: '', body: rest };
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(rest.slice(opening.length));
  if (closing === null) return malformed(bom, '', rest, 'its front matter is never closed by a line ---');

  const end = opening.length + closing.index + closing[0].length;
  const [raw, body] = [rest.slice(0, end), rest.slice(end)];
  const source = rest.slice(opening.length, opening.length + closing.index).replaceAll('\r\n', '\n');
  const limit = yamlFault(source, MAX_FRONT_MATTER);
  if (limit !== null) return malformed(bom, raw, body, `its front matter ${limit}`);
  const yaml: Document = parseDocument(source);
  const fault = yaml.errors[0];
  if (fault !== undefined)
    return malformed(bom, raw, body, `its front matter is not valid YAML: ${flat(fault.message)}`);
  if (yaml.contents === null) yaml.contents = yaml.createNode({});
  if (!isMap(yaml.contents)) return malformed(bom, raw, body, 'its front matter is not a list of keys and values');
  return {
    bom,
    frontMatter: { kind: 'read', yaml, rendered: yaml.toString({ lineWidth: 0 }) },
    rawFrontMatter: raw,
    body,
  };
}

function malformed(bom: string, rawFrontMatter: string, body: string, why: string): SplitMemory {
  const notice = `${MEMORY_PATH} could not be parsed: ${why}. It was not changed; techStack and patterns are not updated until it is fixed.`;
  return { bom, frontMatter: { kind: 'malformed', notice }, rawFrontMatter, body };
}

function scalarOf(yaml: Document | null, key: string): string | null {
  const value: unknown = yaml?.get(key);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** `null` when the key holds something that is no list. */
function listOf(yaml: Document | null, key: string): readonly string[] | null {
  const node: unknown = yaml?.get(key, true);
  if (node === undefined || (isScalar(node) && node.value === null)) return [];
  if (!isSeq(node)) return null;
  return node.items.flatMap((item) => (isScalar(item) && item.value !== null ? [String(item.value)] : []));
}

/** Adds what is missing to a list of the front matter; gives a notice when the key holds something else. */
function extendList(yaml: Document, key: string, values: readonly string[]): readonly string[] {
  const present = listOf(yaml, key);
  if (present === null) return [`${MEMORY_PATH}: "${key}" is not a list and was not changed.`];
  const missing = union(present, values).slice(present.length);
  if (missing.length === 0) return [];
  const node: unknown = yaml.get(key, true);
  if (isSeq(node)) for (const value of missing) node.add(yaml.createNode(value));
  else yaml.set(key, yaml.createNode(missing));
  return [];
}

/** `present` followed by what it does not hold yet, compared without case and spacing. */
function union(present: readonly string[], values: readonly string[]): readonly string[] {
  const known = new Set(present.map((value) => flat(value).toLowerCase()));
  const added = values
    .map(flat)
    .filter((value) => value !== '' && !known.has(value.toLowerCase()) && known.add(value.toLowerCase()));
  return [...present, ...added];
}

const SECTION = /^##\s+Past Decisions\s*$/i;

function pastDecisionsOf(body: string): readonly PastDecision[] {
  const decisions: { date: string; title: string; runId: string; lines: string[] }[] = [];
  let open = false;
  let isSolutions = false;
  for (const { line, isHeading } of headings(body)) {
    if (isHeading && /^##?\s/.test(line)) isSolutions = SOLUTIONS.test(line);
    const entry = isHeading && !isSolutions ? entryOf(line) : null;
    if (entry !== null) decisions.push({ ...entry, lines: [] });
    if (isHeading) open = entry !== null;
    else if (open && line.trim() !== '') decisions.at(-1)?.lines.push(line.trim());
  }
  return decisions;
}

/** The body with the run's entry at the end of "Past Decisions"; the section is added where there is none. */
function withEntry(body: string, update: MemoryUpdate, eol: string): string {
  const entry = renderEntry(update);
  const lines = headings(body);
  const section = lines.findIndex(({ line, isHeading }) => isHeading && SECTION.test(line));
  if (section === -1) return join(body, ['## Past Decisions', '', ...entry], eol);

  const next = lines.findIndex(({ line, isHeading }, index) => index > section && isHeading && /^##?\s/.test(line));
  if (next === -1) return join(body, entry, eol);
  const raw = body.split('\n');
  const [before, after] = [raw.slice(0, next).join('\n'), raw.slice(next).join('\n')];
  return `${join(before, entry, eol)}${eol}${after}`;
}

function renderEntry(update: MemoryUpdate): readonly string[] {
  const lines = update.decisions.map(({ topic, choice, rationale }) => {
    const why = flat(rationale);
    return `- ${flat(topic)}: ${flat(choice)}${why === '' ? '' : ` (${why})`}`;
  });
  const title = flat(update.title).replaceAll('(run:', '(');
  return [
    `### ${update.date}: ${title} (run: ${update.runId})`,
    ...(lines.length > 0 ? lines : ['- No decisions were recorded']),
  ];
}
