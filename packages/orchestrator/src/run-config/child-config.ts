/** The configuration of a child run: that of its parent, narrowed by what the parent asks for. Pure. */
import { RUN_BUDGET_NAMES, type RunConfig, type RunConfigRequest } from '@autonomous/shared';
import { requestedConfigOf } from './run-config.ts';

/**
 * A child never has more than its parent: trust modes go from `auto` to `manual` only, limits get smaller, hosts fewer, and a
 * model is one that the parent uses. What is asked beyond that is passed over. A child has budgets of its own only where the
 * parent asks for some: those of the runs above limit it together with all other runs below them. A child makes no pull request
 * and merges nothing: its branch is for the parent, and the parent's branch is its base.
 * @param parent configuration and branch of the parent
 * @param models models that roles of the parent use, for a child whose workflow lacks these roles
 */
export function childConfig(
  parent: { readonly config: RunConfig; readonly branch: string },
  asked: RunConfigRequest,
  models: readonly string[] = [],
): RunConfig {
  const config = withoutOwnBudgets(parent.config);
  const used = new Set<string>([...Object.values(config.modelRouting), ...models]);
  return {
    ...config,
    trustMode: overlay(config.trustMode, asked.trustMode, (mine, theirs) => (theirs === 'manual' ? theirs : mine)),
    maxClarifications: smaller(config.maxClarifications, asked.maxClarifications),
    maxConcurrency: smaller(config.maxConcurrency, asked.maxConcurrency),
    maxFixAttempts: smaller(config.maxFixAttempts, asked.maxFixAttempts),
    modelRouting: overlay(config.modelRouting, asked.modelRouting, (mine, theirs) =>
      used.has(theirs) ? theirs : mine,
    ),
    timeoutMinutes: overlay(config.timeoutMinutes, asked.timeoutMinutes, smaller),
    git: {
      ...config.git,
      createPR: false,
      autoMerge: false,
      baseBranch: parent.branch,
      // A run that opens no pull request follows none: the key says so only where its parent has it.
      ...(config.git.followPR === undefined ? {} : { followPR: false }),
    },
    ...narrowedEgress(config, asked),
    ...smallerBudgets(parent.config, asked),
  };
}

/**
 * A child's configuration as it is asked for: what the runs above it have or its parent asks for. Where both say nothing, the
 * project's configuration and the defaults decide, as for a run that is no child.
 * @param config configuration of the child
 * @param above configurations of its parent and of the runs above that
 */
export function requestedOfChild(
  config: RunConfig,
  above: readonly RunConfig[],
  asked: RunConfigRequest,
): RunConfigRequest {
  const isKnown = (section: 'trustMode' | 'modelRouting' | 'timeoutMinutes', name: string): boolean =>
    above.some((each) => Object.hasOwn(each[section], name));
  const said = <Value>(
    section: 'trustMode' | 'modelRouting' | 'timeoutMinutes',
    values: Readonly<Record<string, Value>>,
  ): Record<string, Value> =>
    Object.fromEntries(
      Object.entries(values).filter(
        // A parent may ask for less than the project gives, so that 'auto' is no word of its own.
        ([name, value]) => isKnown(section, name) || (asked[section]?.[name] === value && value !== 'auto'),
      ),
    );
  return {
    ...requestedConfigOf(config),
    trustMode: said('trustMode', config.trustMode),
    modelRouting: said('modelRouting', config.modelRouting),
    timeoutMinutes: said('timeoutMinutes', config.timeoutMinutes),
  };
}

/**
 * A child's configuration within the limits of runs further above, for settings that its parent's workflow lacks.
 * @param above configurations of the runs above its parent, the nearest first
 */
export function withinLimitsAbove(config: RunConfig, above: readonly RunConfig[]): RunConfig {
  const limited = above.filter(({ egress }) => egress !== undefined);
  const isManual = (name: string): boolean =>
    above.find(({ trustMode }) => Object.hasOwn(trustMode, name))?.trustMode[name] === 'manual';
  const mayReach = ({ egress, modelRouting }: RunConfig, role: string, host: string): boolean =>
    egress?.[role]?.includes(host) ?? Object.hasOwn(modelRouting, role);
  const egress = Object.keys(config.modelRouting).flatMap((role): [string, string[]][] => {
    const hosts = config.egress?.[role];
    const isOpen = limited.every((each) => each.egress?.[role] === undefined && Object.hasOwn(each.modelRouting, role));
    if (isOpen) return hosts === undefined ? [] : [[role, hosts]];
    const most = hosts ?? limited.find((each) => each.egress?.[role] !== undefined)?.egress?.[role] ?? [];
    return [[role, most.filter((host) => limited.every((each) => mayReach(each, role, host)))]];
  });
  const most = (name: (typeof RUN_BUDGET_NAMES)[number]): number =>
    Math.min(...above.map((each) => each[name] ?? Infinity));
  return {
    ...withoutOwnBudgets(config),
    ...Object.fromEntries(
      RUN_BUDGET_NAMES.flatMap((name) => {
        const own = config[name] ?? Infinity;
        return own < most(name) ? [[name, own] as const] : [];
      }),
    ),
    trustMode: Object.fromEntries(
      Object.entries(config.trustMode).map(([name, level]) => [name, isManual(name) ? 'manual' : level]),
    ),
    ...(limited.length === 0 ? {} : { egress: { ...config.egress, ...Object.fromEntries(egress) } }),
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

function withoutOwnBudgets({ maxCostUsd: _cost, maxTokens: _tokens, maxToolCalls: _calls, ...config }: RunConfig) {
  return config;
}

/** Budgets of the child itself, where they are less than those of its parent; those of the run tree are the same for all its runs. */
function smallerBudgets(config: RunConfig, asked: RunConfigRequest): Partial<RunConfig> {
  return Object.fromEntries(
    RUN_BUDGET_NAMES.flatMap((name) => {
      const wish = asked[name] ?? Infinity;
      return wish < (config[name] ?? Infinity) ? [[name, wish] as const] : [];
    }),
  );
}
