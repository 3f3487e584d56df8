/** The documents of an item, `specs/<slug>/01-ideation.md` to `04-implementation.md`: their paths, texts and tasks. Pure. */
import { stringify } from 'yaml';
import { parseFrontMatter } from '../../documents/front-matter.ts';
import type { DocumentPhase, Finding, ItemTask } from './types.ts';

const FILE_NAMES: Readonly<Record<DocumentPhase, string>> = {
  ideating: '01-ideation.md',
  specifying: '02-specification.md',
  decomposing: '03-tasks.md',
};
const PROGRESS_FILE = '04-implementation.md';

/** Patterns of the documents of all items: the server writes them, and no agent changes them. */
export const DOCUMENT_PATTERNS: readonly string[] = [...Object.values(FILE_NAMES), PROGRESS_FILE].map(
  (name) => `specs/*/${name}`,
);

/** Titles for people, by phase. */
export const DOCUMENT_TITLES: Readonly<Record<DocumentPhase, string>> = {
  ideating: 'Ideation',
  specifying: 'Specification',
  decomposing: 'Tasks',
};

/** Types of the documents as artifacts of the run. */
export const DOCUMENT_TYPES: Readonly<Record<DocumentPhase, string>> = {
  ideating: 'item_ideation',
  specifying: 'item_specification',
  decomposing: 'item_tasks',
};

export const documentPath = (slug: string, phase: DocumentPhase): string => `specs/${slug}/${FILE_NAMES[phase]}`;
export const progressPath = (slug: string): string => `specs/${slug}/${PROGRESS_FILE}`;

/** Where a document comes from. */
export interface Origin {
  readonly item: string;
  readonly title: string;
  readonly runId: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A document's text: front matter that says where it comes from, then the text of the agent. */
export function renderDocument(
  phase: DocumentPhase,
  origin: Origin & { readonly model: string },
  text: string,
): string {
  return `${frontMatter(`${DOCUMENT_TITLES[phase]}: ${origin.title}`, origin, { model: origin.model })}${text.trim()}\n`;
}

/** The text of a document without its front matter. */
export function textIn(document: string): string {
  const parsed = parseFrontMatter(document);
  return (parsed.ok ? parsed.body : document).trim();
}

/** The tasks as a document that people approve. */
export function renderTasks(tasks: readonly ItemTask[]): string {
  const one = ({ id, title, description, dependsOn }: ItemTask): string =>
    [
      `## ${id}: ${onOneLine(title)}`,
      ...(dependsOn.length === 0 ? [] : [`Depends on: ${dependsOn.join(', ')}`]),
      description.trim(),
    ].join('\n\n');
  return `# Tasks\n\n${tasks.map(one).join('\n\n')}`;
}

/** What the state of the work is made of. */
export interface Progress {
  readonly tasks: readonly ItemTask[];
  readonly done: readonly string[];
  readonly findings: readonly Finding[];
}

/** The document with the state of the work. */
export function renderProgress(origin: Origin, { tasks, done, findings }: Progress): string {
  const counted = tasks.filter(({ isFix }) => isFix !== true);
  const finished = counted.filter(({ id }) => done.includes(id)).length;
  const rows = tasks.map(({ id, title }) => `- [${done.includes(id) ? 'x' : ' '}] ${id}: ${onOneLine(title)}`);
  const bugs = findings.map(({ title, size }) => `- ${onOneLine(title)} (${size})`);
  return [
    `${frontMatter(`Implementation: ${origin.title}`, origin, {})}# Implementation`,
    `${finished} of ${counted.length} tasks are done.`,
    rows.join('\n'),
    ...(bugs.length === 0 ? [] : ['## Bugs found', bugs.join('\n')]),
  ]
    .join('\n\n')
    .concat('\n');
}

function frontMatter(title: string, { item, runId, createdAt }: Origin, more: object): string {
  const fields = { title: onOneLine(title), item, run: runId, createdAt, ...more };
  return `---\n${stringify(fields, { lineWidth: 0 })}---\n\n`;
}

function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** Faults of a decomposition, one sentence each, for the agent that made it. */
export function taskFaults(tasks: readonly ItemTask[]): readonly string[] {
  const ids = tasks.map(({ id }) => id);
  const known = new Set(ids);
  const repeated = [...known].filter((id) => ids.indexOf(id) !== ids.lastIndexOf(id));
  const unknown = tasks.flatMap(({ id, dependsOn }) =>
    dependsOn.filter((other) => !known.has(other)).map((other) => `${id} depends on ${other}, which is no task.`),
  );
  const waiting = repeated.length === 0 && unknown.length === 0 ? inCircles(tasks) : [];
  return [
    ...repeated.map((id) => `Two tasks have the id ${id}. Give each its own.`),
    ...unknown,
    ...(waiting.length === 0 ? [] : [`${waiting.join(', ')} wait for each other. Remove one of their dependencies.`]),
  ];
}

function inCircles(tasks: readonly ItemTask[]): readonly string[] {
  const done: string[] = [];
  for (let next = nextTask(tasks, done); next !== undefined; next = nextTask(tasks, done)) done.push(next.id);
  return tasks.map(({ id }) => id).filter((id) => !done.includes(id));
}

/** The first task that is not done and waits for none; `undefined`: there is none. */
export function nextTask(tasks: readonly ItemTask[], done: readonly string[]): ItemTask | undefined {
  return tasks.find(({ id, dependsOn }) => !done.includes(id) && dependsOn.every((other) => done.includes(other)));
}
