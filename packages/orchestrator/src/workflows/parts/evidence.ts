/** Checks of a commit in a machine: their input, and words for what failed. */
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

/** Commands that failed, with their exit codes. */
export const redCommands = ({ commands }: Pick<Checked, 'commands'>): string =>
  commands
    .filter(({ exitCode }) => exitCode !== 0)
    .map(({ command, exitCode }) => `\`${command}\` (exit code ${exitCode ?? 'none'})`)
    .join(', ');

/** Characters of a command's output that the next attempt is given. */
export const MOST_OUTPUT = 4_000;

/** Commands that failed, with the end of their output. */
export const redText = ({ commands }: Pick<Checked, 'commands'>): string =>
  commands
    .filter(({ exitCode }) => exitCode !== 0)
    .map(
      ({ command, exitCode, output }) =>
        `\`${command}\` ends with ${exitCode ?? 'no exit code'}:\n${output.slice(-MOST_OUTPUT)}`,
    )
    .join('\n\n');
