/** Checks of a commit in a machine: their input, and words for what failed. */
import { failedChecksText } from '@autonomous/shared/presentation';
import { emit, type EventObject, type MachineContext } from 'xstate';
import type { Checked, CheckInput, ProjectCommand, RunHeader } from '../../activities/types.ts';
import { headerOf } from './run-context.ts';
import type { RunFact } from './signals.ts';

export interface CheckingContext extends RunHeader {
  readonly baseCommit: string;
  readonly setup: ProjectCommand | null;
  /** `null`: the project has none. */
  readonly test: ProjectCommand | null;
  readonly excludePaths: readonly string[];
  readonly config: { readonly timeoutMinutes: { readonly validation: number } };
}

/** Input of the activity that checks a commit. */
export const checkInputOf = (context: CheckingContext, commit: string, mode: Checked['mode']): CheckInput => ({
  ...headerOf(context),
  mode,
  commit,
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

export const hasTests = ({ test }: Pick<CheckingContext, 'test'>): boolean => (test?.command ?? '') !== '';

/** Actions on evidence. */
export function evidenceActions<Context extends MachineContext, Event extends EventObject>() {
  return {
    keepEvidence: emit<Context, Event, { checked: Checked }, Event, RunFact>((_, { checked }) => ({
      type: 'EVIDENCE_RECORDED',
      ...checked,
    })),
  };
}

/** Characters of a command's output that the next attempt is given. */
const MOST_OUTPUT = 4_000;

/** Failed checks for the next attempt: the cause in the first line, then the end of the output of each failed command. */
export const redText = (checked: Pick<Checked, 'commands' | 'tests'>): string =>
  [
    failedChecksText(checked),
    ...checked.commands
      .filter(({ exitCode }) => exitCode !== 0)
      .map(({ command, output }) => `$ ${command}\n${output.slice(-MOST_OUTPUT)}`),
  ].join('\n\n');
