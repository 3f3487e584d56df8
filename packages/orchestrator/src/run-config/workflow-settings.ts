/** Settings of a run that belong to its workflow: models by role, time limits by stage, trust modes. Pure. */
import { type Fault, type RunConfigRequest, SETTING_NAME, SETUP_ROLE, type TrustLevel } from '@autonomous/shared';

/** The names that a run of a workflow may set, with the value of each where nobody sets it. */
export interface WorkflowSettings {
  /** Name of the workflow. */
  readonly workflow: string;
  /** Default model by role. Roles that are configured as another one are absent. */
  readonly models: Readonly<Record<string, string>>;
  /** Minutes by stage; stages without a time limit are absent. */
  readonly timeoutMinutes: Readonly<Record<string, number>>;
  readonly trustMode: Readonly<Record<string, TrustLevel>>;
  /** Activities of a run at the same time where nobody sets it. Absent: `BUILT_IN_RUN_CONFIG`'s. */
  readonly maxConcurrency?: number;
  /** Roles that have the model and network of another one, by their name. */
  readonly configuredAs: Readonly<Record<string, string>>;
}

/** A workflow without settings: no agent works for it. */
export const NO_SETTINGS: WorkflowSettings = {
  workflow: '',
  models: {},
  timeoutMinutes: {},
  trustMode: {},
  configuredAs: {},
};

/** Names by the section of the configuration in which they are keys. */
export function namesBySection({ models, timeoutMinutes, trustMode }: WorkflowSettings): {
  readonly [Section in 'modelRouting' | 'timeoutMinutes' | 'trustMode' | 'egress']: readonly string[];
} {
  const roles = Object.keys(models);
  return {
    modelRouting: roles,
    timeoutMinutes: Object.keys(timeoutMinutes),
    trustMode: Object.keys(trustMode),
    egress: [...roles, SETUP_ROLE],
  };
}

const KINDS = {
  modelRouting: 'role',
  timeoutMinutes: 'stage with a time limit',
  trustMode: 'trust mode',
  egress: 'role',
} as const;

/** Names of settings by section, whatever their values are. */
export type NamedSettings = { readonly [Section in keyof typeof KINDS]?: object | undefined };

/** The names of settings in any JSON. Sections that are no object are left out, and names that no workflow can have. */
export function namedSettings(json: unknown): NamedSettings {
  const sections: { readonly [Name in string]?: unknown } = typeof json === 'object' && json !== null ? json : {};
  return Object.fromEntries(
    Object.keys(KINDS).flatMap((section): [string, object][] => {
      const named = sections[section];
      if (typeof named !== 'object' || named === null || Array.isArray(named)) return [];
      return [[section, Object.fromEntries(Object.entries(named).filter(([name]) => SETTING_NAME.test(name)))]];
    }),
  );
}

/** A fault for each name in a request that the workflow does not have; paths are relative to the run configuration. */
export function unknownSettings(settings: WorkflowSettings, request: NamedSettings): readonly Fault[] {
  const known = namesBySection(settings);
  return (Object.keys(KINDS) as (keyof typeof KINDS)[]).flatMap((section) =>
    Object.keys(request[section] ?? {})
      .filter((name) => !known[section].includes(name))
      .map((name) => ({
        path: `${section}.${name}`,
        message: unknownName(settings.workflow, KINDS[section], name, known[section]),
      })),
  );
}

/** A request without the names that the workflow does not have. */
export function withoutUnknown(settings: WorkflowSettings, request: RunConfigRequest): RunConfigRequest {
  const known = namesBySection(settings);
  const narrowed: Record<string, unknown> = { ...request };
  for (const section of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
    const given = request[section];
    if (given === undefined) continue;
    narrowed[section] = Object.fromEntries(Object.entries(given).filter(([name]) => known[section].includes(name)));
  }
  // The same sections with fewer keys.
  return narrowed;
}

function unknownName(workflow: string, kind: string, name: string, known: readonly string[]): string {
  if (workflow !== '')
    return `Workflow '${workflow}' has no ${kind} '${name}'; ${known.length === 0 ? `it has no ${kind}` : `it has ${known.join(', ')}`}.`;
  return `No workflow of this server has the ${kind} '${name}'${known.length === 0 ? '' : `; there are ${known.join(', ')}`}.`;
}
