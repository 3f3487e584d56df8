/** The configuration of a child run: that of its parent, narrowed by what the parent asks for. Pure. */
import { BUDGET_NAMES, type RunConfig, type RunConfigRequest } from '@autonomous/shared';

/**
 * A child never has more than its parent: trust modes go from `auto` to `manual` only, limits and budgets get smaller, hosts
 * fewer, and a model is one that the parent uses. What is asked beyond that is passed over. A child makes no pull request and
 * merges nothing: its branch is for the parent, and the parent's branch is its base.
 * @param parent configuration and branch of the parent
 */
export function childConfig(
  parent: { readonly config: RunConfig; readonly branch: string },
  asked: RunConfigRequest,
): RunConfig {
  const { config } = parent;
  const models = new Set<string>(Object.values(config.modelRouting));
  return {
    ...config,
    trustMode: overlay(config.trustMode, asked.trustMode, (mine, theirs) => (theirs === 'manual' ? theirs : mine)),
    maxClarifications: smaller(config.maxClarifications, asked.maxClarifications),
    maxConcurrency: smaller(config.maxConcurrency, asked.maxConcurrency),
    maxFixAttempts: smaller(config.maxFixAttempts, asked.maxFixAttempts),
    modelRouting: overlay(config.modelRouting, asked.modelRouting, (mine, theirs) =>
      models.has(theirs) ? theirs : mine,
    ),
    timeoutMinutes: overlay(config.timeoutMinutes, asked.timeoutMinutes, smaller),
    git: { ...config.git, createPR: false, autoMerge: false, baseBranch: parent.branch },
    ...narrowedEgress(config, asked),
    ...smallerBudgets(config, asked),
  };
}

/** The parent's values, each with what is asked for it. */
function overlay<Values extends Readonly<Record<string, unknown>>>(
  mine: Values,
  asked: { readonly [Name in keyof Values]?: Values[Name] | undefined } | undefined,
  choose: (mine: Values[keyof Values], asked: Values[keyof Values]) => Values[keyof Values],
): Values {
  const chosen = Object.entries(mine).map(([name, value]) => {
    const wish = asked?.[name];
    return [name, wish === undefined ? value : choose(value as Values[keyof Values], wish)]; // of the same record
  });
  return Object.fromEntries(chosen) as Values; // the same names with values of the same types
}

function smaller(mine: number, asked: number | undefined): number {
  return asked === undefined ? mine : Math.min(mine, asked);
}

/** Absent hosts mean all that the server allows; a list that is asked for takes away from that. */
function narrowedEgress({ egress }: RunConfig, asked: RunConfigRequest): Pick<RunConfig, 'egress'> {
  if (asked.egress === undefined) return {};
  const narrowed = Object.entries(asked.egress).map(([role, hosts]): [string, string[]] => {
    const mine = egress?.[role];
    return [role, mine === undefined ? hosts : hosts.filter((host) => mine.includes(host))];
  });
  return { egress: { ...egress, ...Object.fromEntries(narrowed) } };
}

/** Budgets of the child itself; those of the run tree are the same for all its runs. */
function smallerBudgets(config: RunConfig, asked: RunConfigRequest): Partial<RunConfig> {
  return Object.fromEntries(
    BUDGET_NAMES.flatMap((name) => {
      const wish = asked[name];
      if (name.startsWith('maxTree') || wish === undefined || wish === null) return [];
      return [[name, smaller(wish, config[name])] as const];
    }),
  );
}
