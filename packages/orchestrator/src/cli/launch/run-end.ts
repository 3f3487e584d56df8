/** Options that say how a run ends once everything in it is approved. */
import type { RunConfigRequest } from '@autonomous/shared';
import { type Command, Option } from 'commander';

export interface EndOptions {
  readonly autoMerge?: boolean;
  readonly pullRequest?: boolean;
}

/** @param when the end, to be read after what the run does then */
export function addEnd(command: Command, when: string): Command {
  return command
    .addOption(new Option('--auto-merge', `merge ${when}`).conflicts('pullRequest'))
    .option('--pull-request', `open a pull request ${when}, instead of a merge that the configuration asks for`);
}

export function endOf({
  autoMerge,
  pullRequest,
}: EndOptions): Pick<NonNullable<RunConfigRequest['git']>, 'autoMerge' | 'createPR'> {
  if (pullRequest) return { createPR: true, autoMerge: false };
  return autoMerge ? { autoMerge: true } : {};
}
