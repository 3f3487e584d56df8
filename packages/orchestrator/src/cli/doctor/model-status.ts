/** Describes whether the models that runs use by default are usable. */
import { startCommand } from '../../server/start-command.ts';
import type { ServerSetup } from '../../server-setup/server-setup.ts';
import { modelName } from '../follow/timeline.ts';

export interface ModelStatus {
  /** Every role has a usable model. */
  readonly ok: boolean;
  readonly detail: string;
  /** The way out; empty when all is well. */
  readonly way: string;
}

export function modelStatus({ models, defaultModels }: Pick<ServerSetup, 'models' | 'defaultModels'>): ModelStatus {
  const roles = Object.entries(defaultModels()).map(([role, model]) => ({ role, check: models.check(model) }));
  const usable = roles.flatMap(({ role, check }) => (check.ok ? [[role, modelName(check.id)] as const] : []));
  const faults = new Set(roles.flatMap(({ role, check }) => (check.ok ? [] : [`${role}: ${check.message}`])));
  if (faults.size === 0) return { ok: true, detail: modelsOfRoles(usable), way: '' };
  const others = models.list({}).flatMap(({ id, usable: isUsable }) => (isUsable ? [modelName(id)] : []));
  if (usable.length === 0 && others.length === 0) {
    return {
      ok: false,
      detail: 'no model can be used: no provider has a key, and no agent is ready',
      way: `give a key on the page Setup of the dashboard, with "${startCommand().program} keys set anthropic" (or openai, deepseek, openai-compatible), or as ANTHROPIC_API_KEY in the environment; or try: ${startCommand().demo}`,
    };
  }
  return {
    ok: false,
    detail: [modelsOfRoles(usable), ...faults].filter((part) => part !== '').join('; '),
    way: `choose models that have a key on the page Setup of the dashboard or with DEFAULT_MODELS (${roles.map(({ role }) => `${role}=…`).join(',')})${others.length > 0 ? `, such as ${others.slice(0, 4).join(', ')}` : ''}`,
  };
}

/** Models of roles in one line: `all roles: toy-1, but planner, reviewer: big-2`. The model of most roles stands first. */
export function modelsOfRoles(roles: readonly (readonly [role: string, model: string])[]): string {
  const rolesOf = (of: string) => roles.flatMap(([role, model]) => (model === of ? [role] : []));
  const [most, ...others] = [...new Set(roles.map(([, model]) => model))].toSorted(
    (a, b) => rolesOf(b).length - rolesOf(a).length,
  );
  if (most === undefined) return '';
  const exceptions = others.map((model) => `${rolesOf(model).join(', ')}: ${model}`);
  return `all roles: ${most}${exceptions.length > 0 ? `, but ${exceptions.join('; ')}` : ''}`;
}
