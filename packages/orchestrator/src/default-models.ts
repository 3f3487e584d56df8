/** Decides which model a role has where neither a run nor its project names one. */
import { KEYED_PROVIDERS, PROVIDERS } from './models/provider-catalog.ts';
import { workflows } from './workflows/index.ts';
import { declaredModel } from './workflows/workflow-settings.ts';
import { withChildren, type WorkflowRole } from './workflows/workflow.ts';

/** The parts of the environment that decide which model a role has where a run names none. */
export interface ModelDefaults {
  /** Model by role, as the environment names it. */
  readonly named: Readonly<Record<string, string>>;
  /** Model that plays every role: there is a script and no other provider. */
  readonly scripted: string | null;
  /** Variables of the providers that have a key. */
  readonly keys: readonly string[];
  /** Models of other providers, for roles where no provider with a key is left: the first counts. Absent: there are none. */
  readonly others?: readonly string[];
  /** Current model by the variable of its provider, where the provider's list lacks the usual one. */
  readonly current?: Readonly<Record<string, string>>;
  /** `null` allows all. */
  readonly allowed: readonly string[] | null;
}

/**
 * The model of a role in a run that names none: what the environment names for the role or for the role whose defaults it
 * has; with nothing but a script to play, that script; else what the workflow declares, also where its key is missing:
 * `Models.check` says what to set.
 * @param roles all roles of its workflow
 */
export function defaultModelOf(
  { named, scripted, keys, allowed, others = [], current = {} }: ModelDefaults,
  role: WorkflowRole,
  roles: readonly WorkflowRole[],
): string {
  const ofEnvironment = named[role.role.name] ?? (role.defaultsOf === undefined ? undefined : named[role.defaultsOf]);
  if (ofEnvironment !== undefined) return ofEnvironment;
  // One key is enough to start a run: a role whose own provider has no key takes the model of a provider that has one.
  const modelOf = ({ key, model }: (typeof FALLBACK_MODELS)[number]): string => current[key] ?? model;
  const first = FALLBACK_MODELS.find(({ key }) => keys.includes(key));
  const usable = first === undefined ? others[0] : modelOf(first);
  const declared = declaredModel(role, roles) ?? usable ?? FALLBACK_MODEL;
  const provider = FALLBACK_MODELS.find(({ family }) => family.test(declared));
  const own =
    provider === undefined ? declared : keys.includes(provider.key) ? modelOf(provider) : (usable ?? declared);
  const model = scripted ?? own;
  return allowed === null || isAllowed(model, allowed) ? model : (allowed[0] ?? model);
}

/** The default models of all workflows that this product ships, by role; of two with a role of one name the first counts. */
export function defaultModels(defaults: ModelDefaults): Readonly<Record<string, string>> {
  const models: Record<string, string> = {};
  for (const { roles } of withChildren(workflows))
    for (const role of roles)
      if (role.configuredAs === undefined) models[role.role.name] ??= defaultModelOf(defaults, role, roles);
  return models;
}

type KeyVariable = (typeof PROVIDERS)[(typeof KEYED_PROVIDERS)[number]]['keyVariable'];

/** A current model of each provider, for roles whose own model belongs to a provider without a key or is an older one. */
export const FALLBACK_MODELS: readonly {
  /** Variable of its key. */
  readonly key: KeyVariable;
  readonly model: string;
  /** Bare names of the provider's models. */
  readonly family: RegExp;
}[] = KEYED_PROVIDERS.map((id) => {
  const { keyVariable, models, family } = PROVIDERS[id];
  return { key: keyVariable, model: `${id}:${models[0]}`, family };
});

/** For a role that declares no model, on a server without a key. */
const FALLBACK_MODEL = `anthropic:${PROVIDERS.anthropic.models[0]}`;

/** Either of the two may be written with its provider and the other without. */
export function isAllowed(model: string, allowed: readonly string[]): boolean {
  return allowed.some((other) => other === model || other.endsWith(`:${model}`) || model.endsWith(`:${other}`));
}
