/**
 * Loads the workflows that the server's configuration names: files, or packages as seen from the folder in which the server
 * was started. They run inside the server and are trusted like it; nothing that a repository brings is ever loaded.
 */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { createRequire, registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { InvalidRequest } from '@autonomous/shared';
import type { ActivityTools } from './activities/tools.ts';
import type { ActivityRegistry } from './core/activity.ts';
import { childrenOf } from './core/child-runs.ts';
import { isWorkflow, takingFaults, type WorkflowDefinition } from './core/definition.ts';
import {
  activityFaultsOf,
  completeWorkflow,
  declaredVersionsOf,
  faultsOf,
  versionsOf,
  type WorkflowValue,
} from './workflows/complete-workflow.ts';
import { type Workflow, withChildren } from './workflows/workflow.ts';

export interface CustomWorkflowOptions {
  /** As the configuration names them: paths, or names of packages. */
  readonly names: readonly string[];
  /** Absolute folder at which paths begin and from which packages are found. */
  readonly folder: string;
  /** Absolute folder in which runs write: nothing is loaded from it. */
  readonly dataFolder: string;
  /** Workflows that the server brings along: their names are taken. */
  readonly builtIn: readonly Workflow[];
}

/**
 * The module from which authors of custom workflows import, and a smaller one that programs without the server use, too. Each
 * has the name of its workspace package and those of the published packages.
 */
const ENTRY = '@autonomous/orchestrator/workflow';
const ENTRIES: Readonly<Record<string, string>> = {
  [ENTRY]: 'workflow-library',
  'autonomous-orchestrator/workflow': 'workflow-library',
  '@autonomous/orchestrator/engine': 'library',
  'autonomous-orchestrator/engine': 'library',
  'autonomous-engine': 'library',
  // Lent to workflows that have not installed them.
  xstate: 'lent-modules/xstate',
  zod: 'lent-modules/zod',
};
/** Libraries of which a workflow's own copy comes first. */
const LENT: ReadonlySet<string> = new Set(['xstate', 'zod']);
const VARIABLE = 'AUTONOMOUS_WORKFLOWS';
/** The file of each custom workflow, for faults that are found after it was loaded. */
const files = new WeakMap<Workflow, string>();

/** Custom workflows as their modules have them. */
export interface CustomWorkflows {
  /** Workflows that can be put together. A server runs them only where there are no faults. */
  readonly workflows: readonly Workflow[];
  /** Every fault of every file, one sentence each: which file, which thing, and the way out. */
  readonly faults: readonly string[];
}

/** @throws {InvalidRequest} with every fault of every file: which file, which thing, and the way out */
export async function loadCustomWorkflows(options: CustomWorkflowOptions): Promise<readonly Workflow[]> {
  const { workflows, faults } = await readCustomWorkflows(options);
  refuse(faults);
  return workflows;
}

/** Reads the modules and finds their faults. */
export async function readCustomWorkflows(options: CustomWorkflowOptions): Promise<CustomWorkflows> {
  if (options.names.length === 0) return { workflows: [], faults: [] };
  const stopResolving = lendServerModules(options.folder);
  const loaded = new LoadedWorkflows(options.builtIn);
  try {
    for (const name of options.names) await loadInto(loaded, name, options);
  } finally {
    stopResolving();
  }
  return { workflows: loaded.complete(), faults: loaded.faults };
}

/** The file or files of a custom workflow as the configuration names them; `undefined` for any other workflow. */
export function filesOf(workflow: Workflow): string | undefined {
  return files.get(workflow);
}

/**
 * The activities of each workflow, by its name.
 * @throws {InvalidRequest} naming each activity of a custom workflow that is missing or cannot be carried out
 */
export function activitiesOf(
  workflows: readonly Workflow[],
  tools: ActivityTools,
): ReadonlyMap<string, ActivityRegistry> {
  const { registries, faults } = readActivities(workflows, tools);
  refuse(faults);
  return registries;
}

/** The activities of each workflow by its name, and their faults, one sentence each. */
export function readActivities(
  workflows: readonly Workflow[],
  tools: ActivityTools,
): { readonly registries: ReadonlyMap<string, ActivityRegistry>; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const registries = workflows.map((workflow): [string, ActivityRegistry] => {
    const file = files.get(workflow);
    const where = file === undefined ? '' : `${file}: `;
    let activities: ActivityRegistry = {};
    try {
      activities = workflow.activities(tools);
      if (typeof activities !== 'object' || activities === null)
        faults.push(
          `${where}workflow '${workflow.name}': activities(tools) gives ${String(activities)}; return { name: activity, … }.`,
        );
      else faults.push(...activityFaultsOf(workflow, activities).map((fault) => `${where}${fault}`));
    } catch (error) {
      faults.push(
        `${where}workflow '${workflow.name}': activities(tools) failed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    return [workflow.name, activities];
  });
  return { registries: new Map(registries), faults };
}

function refuse(faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new InvalidRequest(
    `The server cannot start with the workflows of ${VARIABLE}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    { faults: faults.map((message) => ({ path: VARIABLE, message })) },
  );
}

async function loadInto(
  loaded: LoadedWorkflows,
  name: string,
  { folder, dataFolder }: CustomWorkflowOptions,
): Promise<void> {
  const file = isPath(name) ? path.resolve(folder, name) : null;
  const found = file ?? packageFile(name, folder);
  if (found !== null && isWithin(await real(found), await real(dataFolder))) {
    loaded.faults.push(`${name} is in the data folder, which runs write to. Move the workflow to another folder.`);
    return;
  }
  let module: Readonly<Record<string, unknown>>;
  try {
    // The module is checked by `entriesOf`; nothing is known of its type.
    module = await takingFaults(
      (message, definition) => loaded.unsound(name, message, definition),
      async () => (await import(file === null ? name : pathToFileURL(file).href)) as Readonly<Record<string, unknown>>,
    );
  } catch (error) {
    loaded.faults.push(`${name} cannot be loaded: ${whyNot(error, name, file, folder)}`);
    return;
  }
  const given = module['workflows'] ?? module['default'];
  const entries: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (given === undefined || entries.length === 0) {
    const names = Object.keys(module).join(', ') || 'nothing';
    loaded.faults.push(
      `${name} exports ${names}; export a workflow as default – { definition, activities } is the smallest – or a list of them as 'workflows'.`,
    );
  } else
    for (const [index, entry] of entries.entries())
      loaded.add(entries.length === 1 ? name : `${name} (${index + 1}.)`, entry);
}

/** Collects what is loaded, and why it cannot be taken. */
class LoadedWorkflows {
  readonly faults: string[] = [];
  readonly #builtIn: readonly Workflow[];
  /** Values of each workflow: versions may lie in several files. */
  readonly #values = new Map<string, { readonly where: string; readonly value: WorkflowValue }[]>();
  /** The file of each workflow that is a child of another one. */
  readonly #children = new Map<string, string>();
  readonly #definitions: (readonly [where: string, definition: WorkflowDefinition])[] = [];
  /** The file of each version of a workflow. */
  readonly #origins = new Map<string, string>();
  /** Definitions with faults. What follows from those is not reported. */
  readonly #unsound = new Set<unknown>();

  constructor(builtIn: readonly Workflow[]) {
    this.#builtIn = withChildren(builtIn);
  }

  /** Notes a definition that `defineWorkflow` would refuse. */
  unsound(name: string, message: string, definition: WorkflowDefinition): void {
    this.faults.push(`${name} cannot be loaded: ${message}`);
    this.#unsound.add(definition);
  }

  /**
   * Adds a value, which may hold anything.
   * @param where the file, for faults
   */
  add(where: string, entry: unknown): void {
    try {
      this.#add(where, entry, []);
    } catch (error) {
      this.faults.push(`${where}: ${unreadable(error)}`);
    }
  }

  /** @param above the workflow that has this one among its `children`, and those above that, the nearest first */
  #add(where: string, entry: unknown, above: readonly { readonly name: string; readonly entry: unknown }[]): void {
    const parent = above[0]?.name;
    const same = above.find((each) => each.entry === entry);
    if (same !== undefined) {
      this.faults.push(
        `${where}: workflow '${same.name}' is among its own children; name it in childRun('${same.name}') instead.`,
      );
      return;
    }
    const given = (typeof entry === 'object' && entry !== null ? entry : {}) as {
      readonly definition?: unknown;
      readonly versions?: unknown;
      readonly activities?: unknown;
      readonly children?: unknown;
    };
    const place = parent === undefined ? where : `${where}: a child of workflow '${parent}'`;
    const listed: readonly unknown[] = Array.isArray(given.versions) ? given.versions : [];
    const definitions = [...listed, ...(given.definition === undefined ? [] : [given.definition])];
    if (definitions.length === 0 || !definitions.every(isWorkflow)) {
      this.faults.push(
        `${place} has no definition that defineWorkflow made; export { definition: defineWorkflow({ … }), activities: { … } } with defineWorkflow from '${ENTRY}'.`,
      );
      return;
    }
    const { name } = definitions[0] as WorkflowDefinition; // there is at least one
    const { activities } = given;
    if ((typeof activities !== 'object' && typeof activities !== 'function') || activities === null) {
      this.faults.push(`${where}: workflow '${name}' has no activities; export them beside its definition.`);
      return;
    }
    for (const definition of definitions) this.#checkDefinition(where, definition);
    const value = entry as WorkflowValue; // its parts are checked here and by `faultsOf`
    const isSound = !definitions.some((definition) => this.#unsound.has(definition));
    this.faults.push(...faultsIn(value, isSound).map((fault) => `${where}: ${fault}`));
    if (typeof activities === 'object') this.#checkActivities(where, definitions, activities as ActivityRegistry);
    this.#keep(where, name, value, parent);
    if (!Array.isArray(given.children)) return;
    for (const child of given.children as unknown[]) this.#add(where, child, [{ name, entry }, ...above]);
  }

  /** All workflows that could be read; several values of one name become the versions of one workflow. */
  complete(): readonly Workflow[] {
    const names = new Set(
      [...this.#builtIn, ...this.#definitions.map(([, definition]) => definition)].map((each) => each.name),
    );
    this.faults.push(...new Set(this.#definitions.flatMap((each) => childRunFaults(...each, names))));
    const areSound = this.faults.length === 0;
    return [...this.#values.values()].flatMap((values) => {
      const where = values.map((each) => each.where).join(', ');
      try {
        const workflow = completeWorkflow(merged(values.map(({ value }) => value)));
        for (const each of withChildren([workflow])) files.set(each, where);
        return [workflow];
      } catch (error) {
        if (areSound) this.faults.push(`${where}: ${unreadable(error)}`);
        return [];
      }
    });
  }

  /** Only a workflow that people launch may have its versions in several values. */
  #keep(where: string, name: string, value: WorkflowValue, parent: string | undefined): void {
    this.#definitions.push(...versionsOf(value).map((definition) => [where, definition] as const));
    const others = this.#values.get(name) ?? [];
    const child = this.#children.get(name);
    if (child !== undefined || (parent !== undefined && others.length > 0)) {
      const elsewhere = child ?? others[0]?.where ?? '';
      this.faults.push(
        `${where}: workflow '${name}' is also in ${elsewhere}, and one of the two is a child of another workflow; give it another name, or name it in childRun('${name}') without adding it to 'children'.`,
      );
    } else if (parent === undefined) this.#values.set(name, [...others, { where, value }]);
    else this.#children.set(name, where);
  }

  /** Activities that a value gives outright; those of a function are checked when it is called. */
  #checkActivities(where: string, versions: readonly WorkflowDefinition[], activities: ActivityRegistry): void {
    const { name = '' } = versions[0] ?? {};
    this.faults.push(...activityFaultsOf({ name, versions }, activities).map((fault) => `${where}: ${fault}`));
    for (const { where: elsewhere, value } of this.#values.get(name) ?? []) {
      const others = typeof value.activities === 'object' ? value.activities : {};
      for (const [source, activity] of Object.entries(activities))
        if (Object.hasOwn(others, source) && others[source] !== activity)
          this.faults.push(
            `${where}: workflow '${name}' has another activity '${source}' in ${elsewhere}; choose another name.`,
          );
    }
  }

  #checkDefinition(where: string, { name, version, signals, machine }: WorkflowDefinition): void {
    const origin = `${name} ${version}`;
    const other = this.#origins.get(origin);
    if (this.#builtIn.some((known) => known.name === name)) {
      this.faults.push(`${where}: the workflow '${name}' is built in; choose another name.`);
    } else if (other !== undefined) {
      this.faults.push(
        `${where}: workflow '${name}' version ${version} is also in ${other}; give one of them another name or a higher version.`,
      );
    } else if (!('RUN_CANCELLED' in signals) || !(machine.events as readonly string[]).includes('RUN_CANCELLED')) {
      this.faults.push(
        `${where}: workflow '${name}' does not take RUN_CANCELLED; declare that signal and handle it at the top of the machine, so that people can end its runs.`,
      );
    } else this.#origins.set(origin, where);
  }
}

/** Child runs of workflows that there are not, one sentence each. */
function childRunFaults(where: string, definition: WorkflowDefinition, names: ReadonlySet<string>): readonly string[] {
  return [...childrenOf(definition)].flatMap(([actor, child]) =>
    names.has(child)
      ? []
      : [
          `${where}: workflow '${definition.name}' starts child runs of '${child}' as '${actor}', and this server has no such workflow; correct the name in childRun('${child}') to one of ${[...names].join(', ')}, or add that workflow to ${VARIABLE}.`,
        ],
  );
}

/** A value may hold anything: what cannot even be read is a fault as well. */
function faultsIn(value: WorkflowValue, isSound: boolean): readonly string[] {
  try {
    return faultsOf(value);
  } catch (error) {
    return isSound ? [unreadable(error)] : [];
  }
}

function unreadable(error: unknown): string {
  return `the workflow cannot be read: ${error instanceof Error ? error.message : typeof error === 'string' ? error : typeof error}. Its parts are described in docs/workflow-reference.md.`;
}

/** Versions of one workflow from several values; of everything else the value of the newest version wins. */
function merged(values: readonly WorkflowValue[]): WorkflowValue {
  const newestFirst = values.toSorted(
    (a, b) => (versionsOf(b).at(-1)?.version ?? 0) - (versionsOf(a).at(-1)?.version ?? 0),
  );
  const [newest] = newestFirst;
  if (newest === undefined) throw new Error('there is no value to merge');
  if (newestFirst.length === 1) return newest;
  const { definition: _definition, ...rest } = newest;
  return {
    ...rest,
    // Each value declares the stages and documents of its own versions.
    versions: values.flatMap((value) => [...declaredVersionsOf(value)]),
    // Earlier versions bring activities that the newest may not have any more.
    activities: (tools) =>
      Object.assign(
        {},
        ...newestFirst
          .toReversed()
          .map(({ activities }) => (typeof activities === 'function' ? activities(tools) : activities)),
      ) as ActivityRegistry,
  };
}

/** Anything else is the name of a package. */
function isPath(name: string): boolean {
  return /^[./\\~]|\.[cm]?[jt]s$/.test(name) || path.isAbsolute(name);
}

/** The file that a package's name stands for, as seen from a folder; `null` where there is none. */
function packageFile(name: string, folder: string): string | null {
  try {
    return createRequire(path.join(folder, 'package.json')).resolve(name);
  } catch {
    // Also a package that is for `import` alone: then what is known is where the package lies.
    const inside = createRequire(path.join(folder, 'package.json')).resolve.paths(name) ?? [];
    return inside.map((modules) => path.join(modules, name)).find((place) => existsSync(place)) ?? null;
  }
}

function isWithin(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  const isOutside = relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return !isOutside;
}

/** Links may lead anywhere. What is not there yet is where it says. */
function real(file: string): Promise<string> {
  return realpath(file).catch(() => file);
}

function whyNot(error: unknown, name: string, file: string | null, folder: string): string {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  const said = String(message ?? error);
  if (code === 'ERR_MODULE_NOT_FOUND' && file !== null && said.includes(`'${file}'`))
    return `there is no file ${file}.`;
  if (code === 'ERR_MODULE_NOT_FOUND' && file === null && said.includes(`'${name}'`))
    return `there is no package of this name in or above ${folder}; install it there, or give a path that begins with ./`;
  return said.endsWith('.') ? said : `${said}.`;
}

/**
 * While workflows are loaded they find the server's own engine, whatever copies lie around: what they define has to be known
 * to the server that runs it. XState and zod are the server's where they have none of their own.
 * @param folder from which packages that the configuration names are found
 * @returns ends it for packages that the configuration names; what is loaded later by a workflow still finds the engine
 */
export function lendServerModules(folder: string): () => void {
  const server = import.meta.url;
  const ending = server.endsWith('.ts') ? 'ts' : 'js';
  const entries = new Map(
    Object.entries(ENTRIES).map(([entry, file]) => [entry, new URL(`./${file}.${ending}`, server).href]),
  );
  const from = pathToFileURL(path.join(folder, 'package.json')).href;
  let isLoading = true;
  registerHooks({
    resolve(specifier, context, next) {
      const entry = entries.get(specifier);
      if (entry !== undefined && !LENT.has(specifier)) return next(entry, context);
      // A package that the configuration names is looked for where the server was started.
      if (isLoading && context.parentURL === server && !specifier.startsWith('file:')) {
        return next(specifier, { ...context, parentURL: from });
      }
      if (!LENT.has(specifier.split('/')[0] ?? '')) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if (
          context.parentURL === undefined ||
          isWithin(fileURLToPath(context.parentURL), path.dirname(fileURLToPath(server)))
        )
          throw error;
        return entry === undefined ? next(specifier, { ...context, parentURL: server }) : next(entry, context);
      }
    },
  });
  return () => {
    isLoading = false;
  };
}
