/** Outcomes of checks: the failures, notices and details that people and later calls are given, and the support for a result. */
import { baselineText, failureText } from '@autonomous/shared/presentation';
import type { Checked, Note } from '../../activities/types.ts';
import type { BuildContext, Failure } from './types.ts';

export const NOTHING_CHANGED: Note = {
  kind: 'checks',
  text: 'Nothing was changed: no file of the project differs from the base commit, and no file that could not be taken counts. Do what the request and the plan ask for. Where there is truly nothing to do, change nothing and say why: a person decides then.',
};

export const noChecks: Failure = {
  from: 'checks',
  severity: 'major',
  summary: 'The project has no checks: nothing but a person can vouch for the result',
  feedback: '',
};

/** Whether exactly this code tree has evidence or a person's acceptance. Without either, nothing is published. */
export function isSupported(context: BuildContext): boolean {
  if (context.codeTree === null) return false;
  if (context.accepted?.codeTree === context.codeTree) return true;
  if (context.failure !== null || context.review?.verdict !== 'pass') return false;
  return (['as_is', 'base_tests'] as const).every((mode) =>
    context.evidence.some(
      (evidence) => evidence.mode === mode && evidence.passed && evidence.codeTree === context.codeTree,
    ),
  );
}

/** The failure of a check, told beside the base commit where that is known. */
export const checksFailed = (evidence: Checked): Failure => {
  const { baseline, failsAsBefore, mode, restored = [] } = evidence;
  const more = restored.length > 3 ? ` and ${restored.length - 3} more` : '';
  const files = restored.length === 0 ? '' : `: ${restored.slice(0, 3).join(', ')}${more}`;
  const failed = failedCommands(evidence);
  const feedback = evidence.commands
    .filter((command) => command.exitCode !== 0)
    .map((command) => `$ ${command.command}\nexit code ${command.exitCode ?? 'none (killed)'}\n${command.output}`)
    .join('\n\n');
  return {
    from: mode === 'as_is' ? 'checks' : 'base_tests',
    severity: 'minor',
    summary: failsAsBefore
      ? `The checks failed before the run already (${baseline === undefined ? 'as now' : failureText(baseline)}) and fail in the same way now${mode === 'as_is' ? '' : `, with the base commit's tests put back${files}`}: ${failed}`
      : mode === 'as_is'
        ? `The project's checks failed: ${failed}`
        : restored.length === 0
          ? `The project's checks passed, and failed when they ran again with the base commit's tests: ${failed}`
          : `The project's checks pass with the result as it is; with these files as on the base commit they fail${files}: ${failed}`,
    feedback: baseline === undefined ? feedback : `${baselineText(baseline)}\n\n${feedback}`,
    ...(failsAsBefore ? { failsAsBefore } : {}),
  };
};

/** Details for a gate about the checks on the base commit; empty if their outcome is not known. */
export const besideBase = ({ evidence }: BuildContext) => {
  const baseline = evidence.findLast((each) => each.baseline !== undefined)?.baseline;
  return baseline === undefined ? {} : { baseline: baselineText(baseline) };
};

const failedCommands = (evidence: Checked) =>
  evidence.commands
    .filter((command) => command.exitCode !== 0)
    .map((command) => `\`${command.command}\` (exit code ${command.exitCode ?? 'none'})`)
    .join(', ') || 'no check ran';

/** Failures of this result in short, which a person accepts together with the result. */
export const failuresOf = (context: BuildContext): string[] => (context.failure ? [context.failure.summary] : []);

/** The context keeps what decides; the whole output is in the log. */
export const withoutOutput = (checked: Checked): Checked => ({
  ...checked,
  commands: checked.commands.map((command) => ({ ...command, output: command.output.slice(-2_000) })),
});

/** Packages that the result adds, one line each. */
const dependencyLines = ({ newDependencies: added = [] }: Checked): readonly string[] =>
  added.map(({ name, version, file, was, hasInstallScript, source, ageDays }) => {
    const facts = [
      file,
      ...(was ? [`was ${was}`] : []),
      ...(ageDays === undefined ? [] : [`${ageDays} ${ageDays === 1 ? 'day' : 'days'} old`]),
      ...(hasInstallScript ? ['has an install script'] : []),
      ...(source ? [`source: ${source}`] : []),
    ];
    return `${name} ${version} (${facts.join(', ')})`;
  });

/** Notice about packages that the result adds; `null` if it adds none. */
export const newDependencies = (checked: Checked): string | null => {
  const lines = dependencyLines(checked);
  return lines.length === 0 ? null : `New dependencies: ${lines.join('; ')}`.slice(0, 10_000);
};

/** Lines that a gate shows of them; `undefined` for none. */
export const dependenciesAtGate = ({ evidence }: BuildContext): readonly string[] | undefined => {
  const lines = evidence.filter(({ mode }) => mode === 'as_is').flatMap(dependencyLines);
  if (lines.length === 0) return undefined;
  const more = lines.length - MAX_DEPENDENCIES;
  return [
    ...lines.slice(0, MAX_DEPENDENCIES).map((line) => line.slice(0, 500)),
    ...(more > 0 ? [`and ${more} more, in the validation report`] : []),
  ];
};
const MAX_DEPENDENCIES = 100;

/** Tests that were there and have other text now; `null` where there are none. */
export const changedTests = ({ changedTests: changed = [] }: Checked): string | null => {
  const list = changed.filter(({ linesRemoved }) => linesRemoved > 0);
  if (list.length === 0) return null;
  const named = list.map(({ path, linesRemoved, isDeleted }) => {
    const lines = `−${linesRemoved} ${linesRemoved === 1 ? 'line' : 'lines'}`;
    return `${path} (${isDeleted ? 'deleted, ' : ''}${lines})`;
  });
  return `Tests that were there before the run were changed: ${named.join(', ')}`.slice(0, 10_000);
};
