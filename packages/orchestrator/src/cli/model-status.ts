/** Describes whether the models that runs use by default are usable. */
import type { ServerConfig } from '../config.ts';
import { createModels } from '../models/registry.ts';
import { modelName } from './timeline.ts';

export interface ModelStatus {
  /** Every role has a usable model. */
  readonly ok: boolean;
  readonly detail: string;
  /** The way out; empty when all is well. */
  readonly way: string;
}

export function modelStatus({ models, runDefaults }: ServerConfig): ModelStatus {
  const known = createModels(models);
  const roles = Object.entries(runDefaults.modelRouting).map(([role, model]) => ({ role, check: known.check(model) }));
  const usable = roles.flatMap(({ role, check }) => (check.ok ? [`${role} ${modelName(check.id)}`] : []));
  const faults = new Set(roles.flatMap(({ role, check }) => (check.ok ? [] : [`${role}: ${check.message}`])));
  if (faults.size === 0) return { ok: true, detail: usable.join(', '), way: '' };
  const { keys, baseUrls, endpoints = [], script } = models;
  const hasProvider = [...Object.values(keys), baseUrls?.openaiCompatible, ...endpoints, script].some(Boolean);
  if (!hasProvider) {
    return {
      ok: false,
      detail: 'no model key is set',
      way: 'set ANTHROPIC_API_KEY, OPENAI_API_KEY or DEEPSEEK_API_KEY in .env and restart, or try: npm run demo',
    };
  }
  const others = known.list({}).flatMap(({ id, usable: isUsable }) => (isUsable ? [modelName(id)] : []));
  return {
    ok: false,
    detail: [...usable, ...faults].join('; '),
    way: `choose models that have a key with DEFAULT_MODELS (${roles.map(({ role }) => `${role}=…`).join(',')})${others.length > 0 ? `, such as ${others.slice(0, 4).join(', ')}` : ''}`,
  };
}
