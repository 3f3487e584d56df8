/** The typed plan: who works on which section, what of a proposal is taken, its order and its hash. Pure. */
import { hashOf } from '../../documents/content-hash.ts';
import { findingsCitedIn } from '../../documents/latex/prose.ts';
import { estimatesIn } from './estimates.ts';
import type { Draft, Fault, Plan, PlanSection } from './types.ts';

export const NO_PLAN: Plan = {
  vision: '',
  architecture: '',
  components: [],
  technologyStack: '',
  defensibility: '',
  risks: [],
  tasks: [],
  openDecisions: [],
};

/** Sections of each architect, by seat. No section has two of them, so that two proposals never contradict each other. */
export const ARCHITECTS: readonly { readonly title: string; readonly sections: readonly PlanSection[] }[] = [
  { title: 'the structure', sections: ['vision', 'architecture', 'components', 'technologyStack'] },
  { title: 'the way there', sections: ['tasks', 'risks', 'defensibility', 'openDecisions'] },
];

export const sectionsOf = (seat: number): readonly PlanSection[] => ARCHITECTS[seat - 1]?.sections ?? [];

type Task = Plan['tasks'][number];

/** Each task behind those that it depends on, else in the given order; `null` where tasks wait for each other. */
export function ordered(tasks: readonly Task[]): readonly Task[] | null {
  const known = new Set(tasks.map(({ id }) => id));
  const placed = new Set<string>();
  const result: Task[] = [];
  let waiting = [...tasks];
  while (waiting.length > 0) {
    const next = waiting.find(({ dependencies }) => dependencies.every((id) => placed.has(id) || !known.has(id)));
    if (next === undefined) return null;
    result.push(next);
    placed.add(next.id);
    waiting = waiting.filter((task) => task !== next);
  }
  return result;
}

/**
 * Everything in a proposal that is not taken, by section.
 * @param findings number of findings: F1 up to this one exist
 */
export function draftFaults(draft: Draft, seat: number, findings: number): readonly Fault[] {
  return [...ownFaults(draft, seat, findings), ...(draft.miscited ?? [])];
}

function ownFaults(draft: Draft, seat: number, findings: number): readonly Fault[] {
  return sectionsOf(seat).flatMap((section) => {
    const value = draft[section];
    if (value === undefined) return [];
    const reasons = [
      ...textsOf(section, value).flatMap(({ place, text, isTitle }) => [
        ...estimatesIn(text, isTitle).map(
          (sentence) => `${place} estimates effort in time: "${sentence.slice(0, 200).toWellFormed()}". Leave it out.`,
        ),
        ...findingsCitedIn(text)
          .filter((id) => !isFinding(id, findings))
          .map((id) => `${place} cites ${id}, which is no finding of the report.`),
      ]),
      ...(section === 'components' ? componentFaults(draft.components ?? []) : []),
      ...(section === 'tasks' ? taskFaults(draft.tasks ?? []) : []),
    ];
    return [...new Set(reasons)].map((reason) => ({ section, index: null, reason }));
  });
}

export function isFinding(id: string, findings: number): boolean {
  const number = /^F([1-9]\d{0,6})$/.exec(id)?.[1];
  return number !== undefined && Number(number) <= findings;
}

function componentFaults(components: Plan['components']): readonly string[] {
  const names = components.map(({ name }) => name);
  return [
    ...repeated(names).map((name) => `Component '${name}' is there twice.`),
    ...components.flatMap(({ name, dependencies }) =>
      dependencies
        .filter((other) => !names.includes(other))
        .map((other) => `Component '${name}' depends on '${other}', which is no component of the plan.`),
    ),
  ];
}

function taskFaults(tasks: readonly Task[]): readonly string[] {
  const ids = tasks.map(({ id }) => id);
  const faults = [
    ...repeated(ids).map((id) => `Task '${id}' is there twice.`),
    ...tasks.flatMap(({ id, dependencies }) =>
      dependencies
        .filter((other) => !ids.includes(other))
        .map((other) => `Task '${id}' depends on '${other}', which is no task of the plan.`),
    ),
  ];
  const cycle = ordered(tasks) === null ? [`Tasks wait for each other: ${waitingOf(tasks).join(', ')}.`] : [];
  return [...faults, ...cycle];
}

/** Ids of tasks that cannot be put behind those that they depend on. */
function waitingOf(tasks: readonly Task[]): readonly string[] {
  const known = new Set(tasks.map(({ id }) => id));
  let waiting = [...tasks];
  for (;;) {
    const open = new Set(waiting.map(({ id }) => id));
    const left = waiting.filter(({ dependencies }) => dependencies.some((id) => known.has(id) && open.has(id)));
    if (left.length === waiting.length) return left.map(({ id }) => id);
    waiting = left;
  }
}

const repeated = (values: readonly string[]): readonly string[] => [
  ...new Set(values.filter((value, index) => values.indexOf(value) !== index)),
];

interface PlacedText {
  readonly place: string;
  readonly text: string;
  readonly isTitle: boolean;
}

const WORDS: Readonly<Record<PlanSection, string>> = {
  vision: 'The vision',
  architecture: 'The architecture',
  components: 'A component',
  technologyStack: 'The technology stack',
  defensibility: 'The defensibility analysis',
  risks: 'A risk',
  tasks: 'A task',
  openDecisions: 'An open decision',
};

/** All texts of a section with the words for their place. */
export function textsOf(section: PlanSection, value: Plan[PlanSection]): readonly PlacedText[] {
  if (typeof value === 'string') return [{ place: WORDS[section], text: value, isTitle: false }];
  return value.flatMap((entry) => {
    const fields = Object.entries(entry);
    const named = String(fields.find(([field]) => ['id', 'name', 'risk', 'decision'].includes(field))?.[1] ?? '');
    const place = `${WORDS[section]} ('${named.slice(0, 80).toWellFormed()}')`;
    return fields.flatMap(([field, text]: readonly [string, unknown]) =>
      (Array.isArray(text) ? text : [text]).flatMap((each: unknown) =>
        typeof each === 'string' ? [{ place, text: each, isTitle: field === 'title' || field === 'name' }] : [],
      ),
    );
  });
}

/** The plan with the sections of a proposal that have no fault. Tasks of components that are gone belong to none. */
export function withDraft(plan: Plan, draft: Draft, seat: number, faults: readonly Fault[]): Plan {
  const refused = new Set(faults.map(({ section }) => section));
  const taken = sectionsOf(seat).filter((section) => draft[section] !== undefined && !refused.has(section));
  const changed: Plan = { ...plan, ...Object.fromEntries(taken.map((section) => [section, draft[section]])) };
  const names = new Set(changed.components.map(({ name }) => name));
  const tasks = changed.tasks.map((task) =>
    task.component !== null && !names.has(task.component) ? { ...task, component: null } : task,
  );
  return { ...changed, tasks: [...(ordered(tasks) ?? tasks)] };
}

/** Sections in which two plans differ. */
export function changedSections(before: Plan, after: Plan): readonly PlanSection[] {
  return ARCHITECTS.flatMap(({ sections }) => sections).filter(
    (section) =>
      planHashOf({ ...NO_PLAN, [section]: before[section] }) !== planHashOf({ ...NO_PLAN, [section]: after[section] }),
  );
}

const byText = (one: string, other: string): number => (one < other ? -1 : 1);

/** The same for plans that differ by white space or by the order of dependencies alone. */
export function planHashOf(plan: Plan): string {
  const normalised = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replaceAll(/\s+/g, ' ').trim().normalize('NFC');
    if (Array.isArray(value)) return value.map(normalised);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([field, each]: [string, unknown]) => {
      const known = normalised(each);
      return [
        field,
        field === 'dependencies' && Array.isArray(known) ? known.map(String).sort(byText) : known,
      ] as const;
    });
    return Object.fromEntries(entries.sort(([one], [other]) => byText(one, other)));
  };
  return hashOf(JSON.stringify(normalised(plan)));
}
