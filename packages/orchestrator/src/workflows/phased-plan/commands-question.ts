/** The question for the commands that verify a project, asked once where its files name none. Pure. */
import type { Question } from '@autonomous/shared';
import type { ProjectCommand } from '../../activities/types.ts';
import type { StateMeta } from '../../core/definition.ts';

export const COMMANDS_QUESTION: Question = {
  question: 'Which commands verify this project?',
  context:
    "No test command was found in package.json, a Makefile, CONTRIBUTING.md or .autonomous/config.json. Answer with the test command on the first line and, if there is one, the lint command on the second; 'none' for a command that does not exist. They are run in a fresh sandbox after each attempt at a phase.",
  responseType: 'text',
};

/** The `meta` of a state in which a person is asked for them. */
export const asksForCommands: StateMeta<{ readonly clarificationCount: number }> = {
  status: 'awaiting_clarification',
  stage: 'preparation',
  gate: {
    kind: 'clarification',
    decisions: ['answer'],
    summary: () => COMMANDS_QUESTION.question,
    facts: ({ clarificationCount }) => ({
      question: { ...COMMANDS_QUESTION },
      attemptNumber: clarificationCount + 1,
      details: {},
    }),
  },
};

/** @param lint the lint command as far as it is known */
export function commandsIn(
  response: string,
  by: string,
  lint: ProjectCommand | null,
): { readonly test: ProjectCommand; readonly lint: ProjectCommand } {
  const [first = '', second] = response
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const source = `answer by ${by}`;
  const named = (line: string): ProjectCommand => ({ command: /^none\.?$/i.test(line) ? '' : line, source });
  return { test: named(first), lint: second === undefined ? (lint ?? { command: '', source }) : named(second) };
}
