/**
 * Workflow: one value with everything that the engine, the server and the clients need for a kind of run. The folder of a
 * workflow exports it, `workflows/index.ts` lists it, and custom workflows are values of the same type.
 */
import type {
  CommandInfo,
  DocumentInfo,
  EventInfo,
  GateInfo,
  JsonObject,
  Projected,
  RoleInfo,
  RunView,
  StageInfo,
  TrustModeInfo,
  WorkflowEvent,
  WorkflowInfo,
} from '@autonomous/shared';
import type { z } from 'zod';
import type { ActivityRegistry } from '../core/activity.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import type { ActivityTools } from '../activities/tools.ts';
import type { KnownRoles, Role } from '../roles/role.ts';

/** Role of a workflow: the role itself and its configuration. */
export interface WorkflowRole extends Omit<RoleInfo, 'name'> {
  // Each role has its own input and result types; only its callers know them.
  readonly role: Role<never, unknown>;
  /** Model id that is used if neither run, project nor server names one. Default: that of `defaultsOf`. */
  readonly defaultModel?: string;
  /** Name of a role, as in DEFAULT_MODELS, whose default model is used while this role has none of its own. */
  readonly defaultsOf?: string;
}

/** The command of a workflow that is known without its machine. */
export interface WorkflowCommand {
  /** Name of the workflow. */
  readonly workflow: string;
  readonly input: z.ZodType;
  readonly command: CommandInfo & { readonly description: string };
}

export interface Workflow {
  /** Lower-case letters, digits and hyphens; also the name of its folder and of each of its definitions. */
  readonly name: string;
  /** Shown to people, such as `Build`. */
  readonly title: string;
  /** Oldest first; new runs follow the last one. Versions are never removed: runs are bound to theirs. */
  readonly versions: readonly WorkflowDefinition[];
  readonly roles: readonly WorkflowRole[];
  /** In the order of a run. */
  readonly stages: readonly StageInfo[];
  readonly trustModes: readonly TrustModeInfo[];
  /** By gate kind. Kinds that every workflow has (`COMMON_GATES`) need not be named. */
  readonly gates: Readonly<Record<string, GateInfo>>;
  /** By artifact type. */
  readonly documents: Readonly<Record<string, DocumentInfo>>;
  /** Texts of events that its machines emit, by type. Default: an event is shown by its name and its fields. */
  readonly events?: Readonly<Record<string, EventInfo>>;
  /** Words for what the progress of its runs counts: `phases merged` in `3 of 7 phases merged`. Default: none. */
  readonly progressWord?: string;
  /**
   * Workflows that runs of this one start as children and nobody launches by itself: a phase of a plan. They are registered with
   * it. Default: none.
   */
  readonly children?: readonly Workflow[];
  /**
   * Files of the record of a run besides the common ones, by name: `.autonomous/runs/<id>/<name>`. A pure function of the run's
   * events. Default: none.
   */
  recordFiles?(view: RunView, events: readonly WorkflowEvent[]): Readonly<Record<string, string>>;
  /**
   * Sections that clients show of a run, such as a timeline of its rounds. A pure function of the run's view, its events and its
   * machine's context; each section has at most `MOST_PROJECTED` rows, and long texts are cut. Default: none.
   */
  readonly projection?: (view: RunView, events: readonly WorkflowEvent[], context: JsonObject) => Projected;
  /** The command that starts a run. Default: it is made of the workflow's name, its request and its input. */
  readonly command?: CommandInfo;
  /** Activities by the names that the machines of all its versions give them. */
  activities(tools: ActivityTools): ActivityRegistry;
}

/** Returns the part of a workflow that clients read. */
export function workflowInfoOf(workflow: Workflow): WorkflowInfo {
  const { name, title, roles, stages, trustModes, gates, documents, events, progressWord, projection, command } =
    workflow;
  return {
    name,
    title,
    roles: roles.map(({ role, title, configuredAs }) => ({
      name: role.name,
      title,
      ...(configuredAs === undefined ? {} : { configuredAs }),
    })),
    stages,
    trustModes,
    gates,
    documents,
    ...(events === undefined ? {} : { events }),
    ...(progressWord === undefined ? {} : { progressWord }),
    ...(projection === undefined ? {} : { hasProjection: true }),
    ...(command === undefined ? {} : { command }),
  };
}

/**
 * Collects the roles of several workflows, for readers of the operator's files that name roles.
 * @param hasOthers true while there may be custom workflows that are not loaded yet
 */
export function knownRolesOf(workflows: readonly Pick<Workflow, 'roles'>[], hasOthers: boolean): KnownRoles {
  const roles = workflows.flatMap((workflow) => workflow.roles.map(({ role }) => [role.name, role.result] as const));
  return { results: Object.fromEntries(roles), hasOthers };
}

/** All workflows of a list with the children of each, theirs included. */
export function withChildren(workflows: readonly Workflow[]): readonly Workflow[] {
  return workflows.flatMap((workflow) => [workflow, ...withChildren(workflow.children ?? [])]);
}

/** Returns the newest version of a workflow. */
export function newestOf({ name, versions }: Pick<Workflow, 'name' | 'versions'>): WorkflowDefinition {
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error(`workflow '${name}' has no version`);
  return newest;
}
