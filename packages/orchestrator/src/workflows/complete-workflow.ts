/**
 * Completes a workflow that says only what it has to: two parts are enough, its definition and its activities. What it leaves
 * out is read from its machine. Also finds what such a value lacks or contradicts.
 */
import {
  COMMON_GATES,
  DOCUMENT_KINDS,
  EVENT_TONES,
  GATE_PRESENTS,
  type GateInfo,
  gateInfoOf,
  RUN_OPTIONS,
  type StageInfo,
  titleOfName,
} from '@autonomous/shared';
import { eventTextFault, fieldsOf } from '@autonomous/shared/presentation';
import type { AnyStateNode } from 'xstate';
import type { ActivityTools } from '../activities/tools.ts';
import type { Activity, ActivityRegistry } from '../core/activity.ts';
import { artifactTypeOf, undeclaredDocument, undeclaredStage } from '../core/declared-names.ts';
import { jsonSchemaOf, sourcesOf, type StateMeta, type WorkflowDefinition } from '../core/definition.ts';
import { actionsOf, type BuiltInAction, nodesOf } from '../core/machine-nodes.ts';
import type { Role } from '../roles/role.ts';
import { TOOL_NAMES } from '../roles/role.ts';
import { newestOf, type Workflow } from './workflow.ts';
import { shapeFaults } from './workflow-shape.ts';

/** A workflow as its author writes it: a definition or all versions of it, its activities, and anything else of `Workflow`. */
export type WorkflowValue = Partial<Omit<Workflow, 'activities' | 'children'>> & {
  readonly children?: readonly WorkflowValue[];
  readonly definition?: WorkflowDefinition;
  readonly activities: ActivityRegistry | ((tools: ActivityTools) => ActivityRegistry);
};

/** The whole workflow. Call it only for a value without faults (`faultsOf`). */
export function completeWorkflow(value: WorkflowValue): Workflow {
  const versions = declaredVersionsOf(value);
  const newest = newestOf({ name: value.name ?? '', versions });
  const { activities } = value;
  return {
    name: newest.name,
    title: value.title ?? titleOfName(newest.name),
    versions,
    roles: value.roles ?? [],
    stages: value.stages ?? stagesOf(versions),
    trustModes: value.trustModes ?? [],
    gates: value.gates ?? gatesOf(versions),
    documents: value.documents ?? {},
    ...(value.events === undefined ? {} : { events: value.events }),
    ...(value.progressWord === undefined ? {} : { progressWord: value.progressWord }),
    ...(value.children === undefined ? {} : { children: value.children.map(completeWorkflow) }),
    ...(value.recordFiles === undefined ? {} : { recordFiles: value.recordFiles }),
    ...(value.projection === undefined ? {} : { projection: value.projection }),
    ...(value.command === undefined ? {} : { command: value.command }),
    activities: typeof activities === 'function' ? activities : () => activities,
  };
}

/** All versions that a value has, oldest first. */
export function versionsOf({ definition, versions }: Pick<WorkflowValue, 'definition' | 'versions'>) {
  return [...(versions ?? []), ...(definition === undefined ? [] : [definition])].sort((a, b) => a.version - b.version);
}

/** All versions of a value, which allow only the stages and documents that the value declares, if it does. */
export function declaredVersionsOf(value: WorkflowValue): readonly WorkflowDefinition[] {
  const { stages, documents } = value;
  const declared = {
    ...(stages === undefined ? {} : { stages: stages.map(({ name }) => name) }),
    ...(documents === undefined ? {} : { documents: Object.keys(documents) }),
  };
  return versionsOf(value).map((definition) => ({ declared, ...definition }));
}

/** Everything in a value that contradicts itself or is not declared, one sentence each. The definitions are sound already. */
export function faultsOf(value: WorkflowValue): readonly string[] {
  const versions = versionsOf(value);
  const named = `workflow '${versions.at(-1)?.name ?? ''}'`;
  const misshapen = shapeFaults(value);
  const wrong = new Set(misshapen.map(({ section }) => section));
  // Sections of a wrong shape cannot be checked further; the others can.
  const sound = Object.fromEntries(Object.entries(value).filter(([section]) => !wrong.has(section))) as WorkflowValue;
  return [
    ...misshapen.map(({ message }) => `${named}: ${message}`),
    ...nameFaults(sound, versions),
    ...roleFaults(sound, named),
    ...(wrong.has('documents') ? [] : gateFaults(sound, versions, named)),
    ...stageFaults(sound, versions, named),
    ...(wrong.has('roles') ? [] : stageRoleFaults(sound, named)),
    ...documentFaults(sound, versions, named),
    ...trustFaults(sound, named),
    ...eventFaults(sound, named),
    ...commandFaults(sound, versions, named),
  ];
}

/** Returns the faults of a workflow's activities, one sentence each. */
export function activityFaultsOf(
  workflow: Pick<Workflow, 'name' | 'versions'>,
  activities: ActivityRegistry,
): readonly string[] {
  const faults = Object.entries(activities).flatMap(([name, activity]) => {
    const fault = activityFault(activity);
    return fault === null ? [] : [`the activity '${name}' ${fault}.`];
  });
  const missing = new Set(workflow.versions.flatMap((definition) => sourcesOf(definition)));
  for (const name of missing) {
    if (Object.hasOwn(activities, name)) continue;
    faults.push(
      `workflow '${workflow.name}' declares the activity '${name}', which 'activities' does not carry out; add it.`,
    );
  }
  return faults;
}

function nameFaults({ name }: WorkflowValue, versions: readonly WorkflowDefinition[]): string[] {
  const own = name ?? versions[0]?.name ?? '';
  const others = versions.filter((definition) => definition.name !== own);
  return others.map(
    (other) =>
      `workflow '${own}' has a version that is called '${other.name}'; give each version the name of its workflow.`,
  );
}

function roleFaults({ roles = [] }: WorkflowValue, named: string): string[] {
  const names = roles.map(({ role }) => role.name);
  return roles.flatMap(({ role, title, configuredAs, defaultsOf }, index) => {
    const faults: string[] = [];
    const fault = roleFault(role);
    if (fault !== null) faults.push(`${named}: role '${role.name}' ${fault}.`);
    if (typeof title !== 'string' || title === '')
      faults.push(`${named}: role '${role.name}' has no title; give it one, such as '${titleOfName(role.name)}'.`);
    if (names.indexOf(role.name) !== index)
      faults.push(`${named}: role '${role.name}' is there twice; give one of them another name.`);
    if (configuredAs !== undefined && !names.includes(configuredAs))
      faults.push(
        `${named}: role '${role.name}' is configured as '${configuredAs}', which is not one of its roles (${names.join(', ')}).`,
      );
    if (defaultsOf !== undefined && configuredAs !== undefined)
      faults.push(`${named}: role '${role.name}' has both configuredAs and defaultsOf; leave one of them out.`);
    return faults;
  });
}

function roleFault(role: Role<never, unknown>): string | null {
  if (!/^[a-z][a-z-]{0,63}$/.test(role.name)) return "has an invalid name: begin with a-z and use a-z and '-'";
  if (typeof role.instructions !== 'string' || role.instructions === '') return 'has no instructions';
  if (!Number.isInteger(role.version) || role.version < 1) return 'has no version; begin with 1';
  if (!Number.isInteger(role.maxSteps) || role.maxSteps < 1) return 'has no maxSteps; give a number from 1';
  if (typeof role.parts !== 'function') return 'has no function parts(input)';
  if (typeof role.result?.safeParse !== 'function') return 'has no result schema; give a zod schema';
  const unknown = (role.tools ?? []).filter((tool) => !TOOL_NAMES.includes(tool));
  return unknown.length === 0 ? null : `has unknown tools ${unknown.join(', ')}; there are ${TOOL_NAMES.join(', ')}`;
}

function gateFaults(
  { gates, documents = {} }: WorkflowValue,
  versions: readonly WorkflowDefinition[],
  named: string,
): string[] {
  if (gates === undefined) return [];
  const missing = [...gateKindsOf(versions)].filter(
    (kind) => !Object.hasOwn(gates, kind) && !Object.hasOwn(COMMON_GATES, kind),
  );
  return [
    ...missing.map((kind) => `${named} opens gates of the kind '${kind}', which 'gates' does not declare; add it.`),
    ...Object.entries(gates).flatMap(([kind, gate]) => {
      if (!GATE_PRESENTS.includes(gate.presents) || typeof gate.title !== 'string' || gate.title === '')
        return [`${named}: gate '${kind}' needs a title, and presents one of ${GATE_PRESENTS.join(', ')}.`];
      if (gate.presents === 'document' && gate.document === undefined)
        return [`${named}: gate '${kind}' presents a document and names none; give its type as 'document'.`];
      return [
        ...[gate.document, gate.report].flatMap((type) =>
          type === undefined || Object.hasOwn(documents, type)
            ? []
            : [`${named}: gate '${kind}' presents the document '${type}', which 'documents' does not declare; add it.`],
        ),
        ...(gate.against ?? [])
          .filter((key) => !Object.hasOwn(gate.details ?? {}, key))
          .map((key) => `${named}: gate '${kind}' has '${key}' in 'against', which 'details' does not name; add it.`),
      ];
    }),
  ];
}

function stageFaults({ stages }: WorkflowValue, versions: readonly WorkflowDefinition[], named: string): string[] {
  if (stages === undefined) return [];
  const names = stages.map(({ name }) => name);
  return [
    ...stagesOf(versions)
      .filter(({ name }) => !names.includes(name))
      .map(({ name }) => undeclaredStage(versions.at(-1)?.name ?? '', name, names)),
    ...twice(names).map((name) => `${named}: stage '${name}' is there twice; give one of them another name.`),
  ];
}

function stageRoleFaults({ stages = [], roles = [] }: WorkflowValue, named: string): string[] {
  const names = new Set(roles.map(({ role }) => role.name));
  return stages.flatMap(({ name, role }) =>
    role === undefined || names.has(role)
      ? []
      : [`${named}: stage '${name}' has the role '${role}', which 'roles' does not declare; add it.`],
  );
}

function documentFaults(
  { documents }: WorkflowValue,
  versions: readonly WorkflowDefinition[],
  named: string,
): string[] {
  if (documents === undefined) return [];
  const types = Object.keys(documents);
  return [
    ...Object.entries(documents).flatMap(([type, { title, drawnAs }]) =>
      DOCUMENT_KINDS.includes(drawnAs) && title !== ''
        ? []
        : [`${named}: document '${type}' needs a title, and is drawn as one of ${DOCUMENT_KINDS.join(', ')}.`],
    ),
    ...[...createdTypes(versions)]
      .filter((type) => !types.includes(type))
      .map((type) => undeclaredDocument(versions.at(-1)?.name ?? '', type, types)),
  ];
}

/** Types of the artifacts that machines emit outright; those that a function gives are not seen. */
function createdTypes(versions: readonly WorkflowDefinition[]): ReadonlySet<string> {
  const actions = versions.flatMap(({ machine }) => [
    ...[...nodesOf(machine.root as AnyStateNode)].flatMap(actionsOf),
    ...Object.values(machine.implementations.actions as Readonly<Record<string, unknown>>),
  ]);
  return new Set(
    actions.flatMap((action) => {
      const { type, event } = (action ?? {}) as Partial<BuiltInAction>; // only actions of XState's own have these fields
      if (type !== 'xstate.emit' || typeof event !== 'object' || event === null) return [];
      const { type: fact, ...payload } = event as Readonly<Record<string, unknown>>;
      return fact === 'ARTIFACT_CREATED' ? (artifactTypeOf(payload) ?? []) : [];
    }),
  );
}

function trustFaults({ trustModes = [] }: WorkflowValue, named: string): string[] {
  return twice(trustModes.map(({ name }) => name)).map(
    (name) => `${named}: trust mode '${name}' is there twice; give one of them another name.`,
  );
}

function eventFaults({ events = {} }: WorkflowValue, named: string): string[] {
  return Object.entries(events).flatMap(([type, { text, tone }]) => {
    if (typeof text !== 'string')
      return [`${named}: event '${type}' has no text; give it one, such as '{file} is written'.`];
    const fault = eventTextFault(text);
    if (fault !== null) return [`${named}: the text of event '${type}', '${text}', ${fault}.`];
    return tone === undefined || EVENT_TONES.includes(tone)
      ? []
      : [`${named}: event '${type}' has the tone '${tone}', which is not one of ${EVENT_TONES.join(', ')}.`];
  });
}

function commandFaults(
  { command = {}, trustModes = [] }: WorkflowValue,
  versions: readonly WorkflowDefinition[],
  named: string,
): string[] {
  const input = versions.at(-1)?.input;
  const inputFields = fieldsOf(input === undefined ? null : jsonSchemaOf(input));
  const fields = inputFields.map(({ name }) => name);
  const has = fields.length === 0 ? 'which has no fields' : `which has ${fields.join(', ')}`;
  const given = [...(command.arguments ?? []), ...Object.keys(command.options ?? {})];
  const names = Object.values(command.options ?? {}).filter((name) => name !== null);
  const mode = command.review?.trustMode;
  const many = (command.arguments ?? []).filter((name) =>
    inputFields.some((field) => field.name === name && field.kind !== 'text' && field.kind !== 'choice'),
  );
  return [
    ...many.map(
      (name) => `${named}: the argument '${name}' of its command is neither a text nor a choice; make it an option.`,
    ),
    ...given
      .filter((name) => !fields.includes(name))
      .map((name) => `${named}: its command names the field '${name}' of the input, ${has}.`),
    ...names
      .filter((name) => RUN_OPTIONS.includes(name))
      .map(
        (name) => `${named}: its command has the option '${name}', which every command has already; name it otherwise.`,
      ),
    ...twice(names).map((name) => `${named}: its command has the option '${name}' twice; name one of them otherwise.`),
    ...(mode === undefined || trustModes.some(({ name }) => name === mode)
      ? []
      : [
          `${named}: 'review' of its command sets the trust mode '${mode}', which 'trustModes' does not declare; add it.`,
        ]),
  ];
}

function twice(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** Stages that states name outright; those that a function gives are not seen. */
function stagesOf(versions: readonly WorkflowDefinition[]): StageInfo[] {
  const names = new Set<string>();
  for (const { stage } of metasOf(versions)) if (typeof stage === 'string') names.add(stage);
  return [...names].map((name) => ({ name, title: titleOfName(name) }));
}

function gatesOf(versions: readonly WorkflowDefinition[]): Record<string, GateInfo> {
  return Object.fromEntries([...gateKindsOf(versions)].map((kind) => [kind, gateInfoOf(undefined, kind)]));
}

/** Kinds of the gates that the states of these versions open. */
export function gateKindsOf(versions: readonly WorkflowDefinition[]): ReadonlySet<string> {
  return new Set(metasOf(versions).flatMap(({ gate }) => (gate === undefined ? [] : [gate.kind])));
}

function metasOf(versions: readonly WorkflowDefinition[]): readonly StateMeta[] {
  return versions.flatMap(({ machine }) =>
    [...nodesOf(machine.root as AnyStateNode)].flatMap(
      ({ meta }) => (meta === undefined ? [] : [meta as StateMeta]), // `defineWorkflow` has checked its shape
    ),
  );
}

/** Returns the fault of an activity; `null` when it can be performed. */
function activityFault(activity: Activity): string | null {
  if (typeof activity !== 'object' || activity === null) return 'is not an object; give { retry, perform, find? }';
  const { perform, find, retry } = activity as {
    readonly perform?: unknown;
    readonly find?: unknown;
    readonly retry?: unknown;
  };
  if (typeof perform !== 'function') return 'has no function perform(input, context)';
  if (find !== undefined && typeof find !== 'function') return "has a 'find' that is not a function";
  const { attempts, firstDelayMs, maxDelayMs } = (typeof retry === 'object' && retry !== null ? retry : {}) as Record<
    string,
    unknown
  >;
  const isPolicy =
    Number.isInteger(attempts) &&
    Number(attempts) > 0 &&
    [firstDelayMs, maxDelayMs].every((ms) => Number.isFinite(ms) && Number(ms) >= 0);
  return isPolicy ? null : 'has no retry policy { attempts, firstDelayMs, maxDelayMs }; THREE_TRIES is one';
}
