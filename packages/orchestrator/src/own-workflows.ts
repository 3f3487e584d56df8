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
import type { Activity, ActivityRegistry } from './workflow/activity.ts';
import { isWorkflow, type WorkflowDefinition } from './workflow/definition.ts';

export interface OwnWorkflowOptions {
  /** As the configuration names them: paths, or names of packages. */
  readonly names: readonly string[];
  /** Absolute folder at which paths begin and from which packages are found. */
  readonly folder: string;
  /** Absolute folder in which runs write: nothing is loaded from it. */
  readonly dataFolder: string;
  /** What the server brings along: its names are taken. */
  readonly builtIn: { readonly definitions: readonly WorkflowDefinition[]; readonly activities: ActivityRegistry };
}

export interface OwnWorkflows {
  readonly definitions: readonly WorkflowDefinition[];
  readonly activities: ActivityRegistry;
}

/** What own workflows import from the server that loads them. */
const ENTRY = '@autonomous/orchestrator/engine';
/** Libraries that they may use without installing them. */
const SHARED: ReadonlySet<string> = new Set(['xstate', 'zod']);
const VARIABLE = 'AUTONOMOUS_WORKFLOWS';

/** @throws {InvalidRequest} with every fault of every file: which file, which thing, and the way out */
export async function loadOwnWorkflows(options: OwnWorkflowOptions): Promise<OwnWorkflows> {
  if (options.names.length === 0) return { definitions: [], activities: {} };
  const stopResolving = shareServerModules(options.folder);
  const taken = new Taken(options.builtIn);
  try {
    for (const name of options.names) await loadInto(taken, name, options);
  } finally {
    stopResolving();
  }
  if (taken.faults.length === 0) return taken;
  throw new InvalidRequest(
    `The server cannot start with the workflows of ${VARIABLE}:\n${taken.faults.map((fault) => `  ${fault}`).join('\n')}`,
    { faults: taken.faults.map((message) => ({ path: VARIABLE, message })) },
  );
}

async function loadInto(taken: Taken, name: string, { folder, dataFolder }: OwnWorkflowOptions): Promise<void> {
  const file = isPath(name) ? path.resolve(folder, name) : null;
  const found = file ?? packageFile(name, folder);
  if (found !== null && isWithin(await real(found), await real(dataFolder))) {
    taken.faults.push(`${name} lies in the data folder, where runs write; keep workflows elsewhere.`);
    return;
  }
  let module: Readonly<Record<string, unknown>>;
  try {
    // The module is checked by `entriesOf`; nothing is known of its type.
    module = (await import(file === null ? name : pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    taken.faults.push(`${name} cannot be loaded: ${whyNot(error, name, file, folder)}`);
    return;
  }
  const given = module['workflows'] ?? module['default'];
  const entries: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (given === undefined || entries.length === 0) {
    const names = Object.keys(module).join(', ') || 'nothing';
    taken.faults.push(
      `${name} exports ${names}; export { definition, activities } as default, or a list of them as 'workflows'.`,
    );
  } else
    for (const [index, entry] of entries.entries())
      taken.add(entries.length === 1 ? name : `${name} (${index + 1}.)`, entry);
}

/** Collects what is loaded, and why it cannot be taken. */
class Taken implements OwnWorkflows {
  readonly definitions: WorkflowDefinition[] = [];
  readonly activities: Record<string, Activity> = {};
  readonly faults: string[] = [];
  readonly #builtIn: OwnWorkflowOptions['builtIn'];
  /** Where each activity and each version of a workflow came from. */
  readonly #origins = new Map<string, string>();

  constructor(builtIn: OwnWorkflowOptions['builtIn']) {
    this.#builtIn = builtIn;
  }

  /** @param where the file, for faults */
  add(where: string, entry: unknown): void {
    const { definition, activities } = (typeof entry === 'object' && entry !== null ? entry : {}) as {
      readonly definition?: unknown;
      readonly activities?: unknown;
    };
    if (!isWorkflow(definition)) {
      this.faults.push(
        `${where} has no definition that defineWorkflow made; export { definition: defineWorkflow({ … }), activities: { … } } with defineWorkflow from '${ENTRY}'.`,
      );
      return;
    }
    if (typeof activities !== 'object' || activities === null) {
      this.faults.push(`${where}: workflow '${definition.name}' has no activities; export them beside its definition.`);
      return;
    }
    this.#addDefinition(where, definition);
    for (const [name, activity] of Object.entries(activities)) this.#addActivity(where, name, activity);
    for (const name of Object.keys(definition.machine.implementations.actors)) {
      if (Object.hasOwn(activities, name)) continue;
      this.faults.push(
        `${where}: workflow '${definition.name}' declares the activity '${name}', which 'activities' does not carry out; add it.`,
      );
    }
  }

  #addDefinition(where: string, definition: WorkflowDefinition): void {
    const { name, version, signals, machine } = definition;
    const origin = `${name} ${version}`;
    const other = this.#origins.get(origin);
    if (this.#builtIn.definitions.some((known) => known.name === name)) {
      this.faults.push(`${where}: the workflow '${name}' is built in; choose another name.`);
    } else if (other !== undefined) {
      this.faults.push(
        `${where}: workflow '${name}' version ${version} is also in ${other}; name one of them otherwise, or raise its version.`,
      );
    } else if (!('RUN_CANCELLED' in signals) || !(machine.events as readonly string[]).includes('RUN_CANCELLED')) {
      this.faults.push(
        `${where}: workflow '${name}' does not take RUN_CANCELLED; declare that signal and handle it at the top of the machine, so that people can end its runs.`,
      );
    } else {
      this.#origins.set(origin, where);
      this.definitions.push(definition);
    }
  }

  #addActivity(where: string, name: string, activity: unknown): void {
    const fault = activityFault(activity);
    if (fault !== null) {
      this.faults.push(`${where}: the activity '${name}' ${fault}.`);
    } else if (Object.hasOwn(this.#builtIn.activities, name)) {
      this.faults.push(
        `${where}: the activity '${name}' has the name of a built-in one; choose another, such as the workflow's name and what it does.`,
      );
    } else if (Object.hasOwn(this.activities, name) && this.activities[name] !== activity) {
      this.faults.push(
        `${where}: there is another activity '${name}' in ${this.#origins.get(`activity ${name}`) ?? 'another file'}; choose another name.`,
      );
    } else {
      this.#origins.set(`activity ${name}`, where);
      // Its parts were looked at just before; what it takes and gives is a matter of the machine's types.
      this.activities[name] = activity as Activity;
    }
  }
}

/** What is wrong with an activity; `null` when it can be carried out. */
function activityFault(activity: unknown): string | null {
  if (typeof activity !== 'object' || activity === null) return 'is no object; give { retry, perform, find? }';
  const { perform, find, retry } = activity as {
    readonly perform?: unknown;
    readonly find?: unknown;
    readonly retry?: unknown;
  };
  if (typeof perform !== 'function') return 'has no function perform(input, context)';
  if (find !== undefined && typeof find !== 'function') return "has a 'find' that is no function";
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
 * @returns ends it for packages that the configuration names; what is loaded later by a workflow still finds the engine
 */
function shareServerModules(folder: string): () => void {
  const server = import.meta.url;
  const library = new URL(server.endsWith('.ts') ? './library.ts' : './library.js', server).href;
  const from = pathToFileURL(path.join(folder, 'package.json')).href;
  let isLoading = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === ENTRY) return next(library, context);
      // A package that the configuration names is looked for where the server was started.
      if (isLoading && context.parentURL === server && !specifier.startsWith('file:')) {
        return next(specifier, { ...context, parentURL: from });
      }
      if (!SHARED.has(specifier.split('/')[0] ?? '')) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if (
          context.parentURL === undefined ||
          isWithin(fileURLToPath(context.parentURL), path.dirname(fileURLToPath(server)))
        )
          throw error;
        return next(specifier, { ...context, parentURL: server });
      }
    },
  });
  return () => {
    isLoading = false;
  };
}
