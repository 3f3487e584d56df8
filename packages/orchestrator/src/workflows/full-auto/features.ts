/** The features of a run: their schema, what is wrong with a list of them, and which one comes next. Pure. */
import { z } from 'zod';

/** Features of one run, at most. */
export const MAX_FEATURES = 100;

const featureId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$/, 'an id has 1 to 31 letters, digits and the characters . _ -');
const oneLine = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .regex(/^[^\r\n]*$/, 'it is one line');

/** A feature as the agent names it. */
export const listedFeatureSchema = z.object({
  id: featureId.describe('Unique and short, such as F001'),
  name: oneLine(120),
  description: z
    .string()
    .trim()
    .min(1)
    .max(8_000)
    .describe('All that somebody needs who sees only this text and the code, with the tests that prove it'),
  component: oneLine(120).describe('Component of the plan that it belongs to'),
  dependencies: z.array(featureId).max(MAX_FEATURES).default([]).describe('Ids of features that have to pass before'),
  tasks: z
    .array(z.string().trim().min(1).max(200))
    .min(1)
    .max(200)
    .describe('Ids of the tasks of the plan that it carries out'),
});
export type ListedFeature = z.infer<typeof listedFeatureSchema>;

export const featureSchema = listedFeatureSchema.omit({ tasks: true }).extend({
  dependencies: z.array(featureId).max(MAX_FEATURES),
  passes: z
    .boolean()
    .describe('Set by the server alone, when the checks are green on the feature and it is on the branch of the run'),
});
export type Feature = z.infer<typeof featureSchema>;

/** The file `feature-list.json`. */
export const featureListSchema = z.strictObject({ features: z.array(featureSchema.strict()).min(1).max(MAX_FEATURES) });

/** JSON Schema of the file, as `docs/schemas/feature-list.schema.json` has it. */
export function featureListJsonSchema(): object {
  return {
    ...z.toJSONSchema(featureListSchema, { io: 'input' }),
    title: 'feature-list.json: features of a full-auto run',
  };
}

/** Tasks of the plan that a fault names. */
const TASKS_NAMED = 20;

/**
 * What is wrong with a list, one sentence each; empty for one that can be carried out.
 * @param tasks ids of the plan's tasks: a list that leaves one out is not the plan, however many of its features pass
 */
export function featureFaults(features: readonly ListedFeature[], tasks: readonly string[]): readonly string[] {
  const ids = new Set(features.map(({ id }) => id));
  const doubled = [...new Set(features.map(({ id }) => id).filter((id, index, all) => all.indexOf(id) !== index))];
  const faults = [
    ...doubled.map((id) => `Two features have the id ${id}; each needs its own.`),
    ...features.flatMap(({ id, dependencies }) =>
      dependencies
        .filter((other) => !ids.has(other))
        .map(
          (other) =>
            `${id} depends on ${other}, and no feature has this id. Correct the id or take the dependency out.`,
        ),
    ),
  ];
  const ofPlan = coverFaults(features, tasks);
  const cycle = cycleIn(features);
  return cycle === null
    ? [...faults, ...ofPlan]
    : [
        ...faults,
        ...ofPlan,
        `${cycle.join(' → ')} is a cycle of dependencies. Take one of them out, or make one feature of them.`,
      ];
}

/** Each task of the plan is in a feature, and no feature is for something else. */
function coverFaults(features: readonly ListedFeature[], tasks: readonly string[]): readonly string[] {
  const known = new Set(tasks);
  const covered = new Set(features.flatMap((feature) => feature.tasks));
  const left = [...known].filter((task) => !covered.has(task));
  const more = left.length > TASKS_NAMED ? ` and ${left.length - TASKS_NAMED} more` : '';
  return [
    ...(left.length === 0
      ? []
      : [
          `No feature carries out ${left.slice(0, TASKS_NAMED).join(', ')}${more} of the plan. Name each task in the "tasks" of a feature.`,
        ]),
    ...features.flatMap(({ id, tasks: own }) =>
      own
        .filter((task) => !known.has(task))
        .map(
          (task) =>
            `${id} names the task ${task}, which the plan does not have. Take it out, or leave the feature away.`,
        ),
    ),
  ];
}

/** Ids of features that depend on each other in a circle, the first one also at the end; `null`: there is no cycle. */
function cycleIn(features: readonly Pick<ListedFeature, 'id' | 'dependencies'>[]): readonly string[] | null {
  const dependencies = new Map(features.map((feature) => [feature.id, feature.dependencies]));
  const free = new Set<string>();
  // A feature is free when all that it depends on is; unknown ids are another fault.
  for (let before = -1; before !== free.size;) {
    before = free.size;
    for (const [id, others] of dependencies)
      if (others.every((other) => free.has(other) || !dependencies.has(other))) free.add(id);
  }
  const first = [...dependencies.keys()].find((id) => !free.has(id));
  if (first === undefined) return null;
  const path = [first];
  for (;;) {
    const next = dependencies.get(path.at(-1) ?? '')?.find((other) => dependencies.has(other) && !free.has(other));
    if (next === undefined) return null;
    const start = path.indexOf(next);
    if (start >= 0) return [...path.slice(start), next];
    path.push(next);
  }
}

/** Features of a run, and those that were skipped, with the reason. */
export interface Features {
  readonly features: readonly Feature[];
  readonly skipped: Readonly<Record<string, string>>;
}

/** Ids come from an agent: they may be names of an object's own. */
export const reasonOf = ({ skipped }: Pick<Features, 'skipped'>, id: string): string | undefined =>
  Object.hasOwn(skipped, id) ? skipped[id] : undefined;

/**
 * The first feature in the order of the list that does not pass and whose dependencies all do; `undefined`: there is none.
 * @param waiting ids of features whose results wait for a person
 */
export function nextFeature({ features, skipped }: Features, waiting: readonly string[] = []): Feature | undefined {
  const passing = new Set(features.flatMap(({ id, passes }) => (passes ? [id] : [])));
  return features.find(
    ({ id, passes, dependencies }) =>
      !passes &&
      !waiting.includes(id) &&
      reasonOf({ skipped }, id) === undefined &&
      dependencies.every((other) => passing.has(other)),
  );
}

/** Features that depend on a skipped one, at any distance, each with the id of that one. */
export function unreachable({ features, skipped }: Features): ReadonlyMap<string, string> {
  const blocked = new Map(features.flatMap(({ id }) => (reasonOf({ skipped }, id) === undefined ? [] : [[id, id]])));
  for (let before = -1; before !== blocked.size;) {
    before = blocked.size;
    for (const { id, passes, dependencies } of features) {
      const by = dependencies.map((other) => blocked.get(other)).find((each) => each !== undefined);
      if (!passes && by !== undefined && !blocked.has(id)) blocked.set(id, by);
    }
  }
  return new Map([...blocked].filter(([id]) => reasonOf({ skipped }, id) === undefined));
}

export const named = ({ id, name }: Pick<Feature, 'id' | 'name'>): string => `${id} ${name}`;

export const passing = ({ features }: Pick<Features, 'features'>): number =>
  features.filter(({ passes }) => passes).length;

/** `5 of 8 features pass` */
export function passText({ features }: Pick<Features, 'features'>): string {
  return `${passing({ features })} of ${features.length} ${features.length === 1 ? 'feature passes' : 'features pass'}`;
}

/** Features that do not pass, one sentence each, at the end of a run. */
export function failuresOf(state: Features): readonly string[] {
  const held = unreachable(state);
  return state.features.flatMap((feature) => {
    if (feature.passes) return [];
    const reason = reasonOf(state, feature.id);
    if (reason !== undefined) return [`${named(feature)} is skipped: ${reason}`];
    const by = held.get(feature.id);
    return by === undefined
      ? [`${named(feature)} was not begun: the iterations were used up.`]
      : [`${named(feature)} cannot be reached: it depends on ${by}, which is skipped.`];
  });
}
