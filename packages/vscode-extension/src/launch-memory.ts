/** Remembers the options of the last run, from the editor's steps or the form, as defaults of the next one. */
import type { NewExploration, NewRun } from '@autonomous/shared';
import { type Choice, choiceOf, DEFAULT_TRUST, type LaunchDraft, STAGES } from '@autonomous/ui';

export interface LaunchMemory {
  /** The last choice; of the project, where one is named: each has a base branch of its own. */
  last(projectId?: string): Choice;
  keep(choice: Choice): void;
  /** A web view has launched this, and the server has taken it. */
  keepLaunched(launched: NewRun | NewExploration): void;
  /** For a form: the last choice, and nothing typed yet. */
  draft(): LaunchDraft;
}

/** As it is stored, for as long as the extension is installed: fields are added and never change their meaning. */
interface Kept {
  readonly projectId?: string;
  readonly manual?: readonly string[];
  readonly models?: Choice['models'];
  readonly budgets?: Choice['budgets'];
  readonly baseBranch?: Readonly<Record<string, string>>;
}
const KEY = 'autonomous.lastLaunch';

/** The part of the editor's memory that is used here. */
export interface Memory {
  get<Value>(key: string): Value | undefined;
  update(key: string, value: unknown): Thenable<void>;
}

export function createLaunchMemory(memory: Memory): LaunchMemory {
  const read = (): Kept => memory.get<Kept>(KEY) ?? {};
  const last = (projectId?: string): Choice => {
    const kept = read();
    const { manual } = kept;
    const of = projectId ?? kept.projectId ?? '';
    const trust = Object.fromEntries(STAGES.map((stage) => [stage, manual?.includes(stage) ? 'manual' : 'auto']));
    return {
      projectId: of,
      // All of them were named above.
      trust: manual === undefined ? DEFAULT_TRUST : (trust as Choice['trust']),
      models: kept.models ?? {},
      budgets: kept.budgets ?? {},
      baseBranch: kept.baseBranch?.[of] ?? '',
    };
  };
  const keep = ({ projectId, trust, models, budgets, baseBranch }: Choice): void => {
    const kept: Kept = {
      projectId,
      manual: STAGES.filter((stage) => trust[stage] === 'manual'),
      models,
      budgets,
      baseBranch: { ...read().baseBranch, [projectId]: baseBranch },
    };
    void memory.update(KEY, kept);
  };
  return {
    last,
    keep,
    keepLaunched(launched) {
      const config = 'variants' in launched ? launched.variants[0]?.config : launched.config;
      if (launched.projectId !== undefined) keep(choiceOf(launched.projectId, config));
    },
    draft: () => ({ id: crypto.randomUUID(), requests: [], choice: last() }),
  };
}
