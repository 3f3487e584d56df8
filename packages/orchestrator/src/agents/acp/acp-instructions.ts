/**
 * Instructions for external agents in addition to their role: how to return a result and how to ask a question, through
 * files that every agent can write. The files are under `.autonomous/`, which is never imported into the project.
 */
import { z } from 'zod';

/** Relative to the working folder, and below it: some agents write nowhere else. */
export const EXCHANGE_FOLDER = '.autonomous/agent';
export const RESULT_FILE = `${EXCHANGE_FOLDER}/result.json`;
export const QUESTION_FILE = `${EXCHANGE_FOLDER}/question.json`;

export interface PromptParts {
  readonly instructions: string;
  readonly prompt: string;
  readonly resultSchema: z.ZodType;
  readonly mayAsk: boolean;
  /** Absolute path inside of the folder that the agent works in. */
  readonly folder: string;
}

/** The first message of a session. */
export function firstPrompt(parts: PromptParts): string {
  return [parts.instructions, howToEnd(parts), parts.prompt].join('\n\n');
}

/** The first message to an agent whose process was killed and which has its session back. */
export function resumePrompt({ folder, mayAsk }: Pick<PromptParts, 'folder' | 'mayAsk'>): string {
  return `Your process was ended in the middle of your work and has been started again; this is the same session, and the files are as you left them. A command that was running is gone, and the last change may be half done: look before you go on. Then finish the task. As before, the work ends with your result in ${folder}/${RESULT_FILE}${mayAsk ? `, or with a question in ${folder}/${QUESTION_FILE}` : ''}.`;
}

/** Told to an agent whose context was compacted, since a summary may have lost a part of its task. */
export function compactedPrompt(parts: PromptParts): string {
  return `Your context was compacted. So that nothing of your task is lost, this is all of it once more. What you have done so far lies in the folder: look first, keep what is right, and go on from there.\n\n${firstPrompt(parts)}`;
}

/** Put before the first message where work of an earlier session may lie in the folder. */
export const STARTED_ANEW =
  'An earlier session on this task was ended in the middle of its work and cannot be continued. What it has written may lie in the folder: look first, keep what is right, and go on from there.';

/** Told to an agent whose turn was ended because people said something. */
export function interruptedPrompt(messages: readonly string[]): string {
  return `${messages.join('\n\n')}\n\nYour turn was ended so that you hear this; the files are as you left them, and a command that was running is gone. Go on with the task. It ends as you were told.`;
}

/** Told to an agent that believes to be done, by people who say something in the last moment. */
export function lastWordPrompt(messages: readonly string[], { folder }: Pick<PromptParts, 'folder'>): string {
  return `${messages.join('\n\n')}\n\nThis came before your result was taken. See what follows from it, do it, and write your result to ${folder}/${RESULT_FILE} once more if it is another one.`;
}

/** The one chance to do better after a turn that ended without a usable result. */
export function resultRetryPrompt(fault: string, { folder }: Pick<PromptParts, 'folder'>): string {
  return `Your turn has ended and the result cannot be taken: ${fault} Finish what is missing, then write the whole, corrected result as JSON to ${folder}/${RESULT_FILE}. This is the last chance.`;
}

function howToEnd({ resultSchema, mayAsk, folder }: PromptParts): string {
  const schema = JSON.stringify(z.toJSONSchema(resultSchema, { io: 'input', unrepresentable: 'any' }), null, 2);
  return `# Your own tools, and how this work ends
You work with your own tools in ${folder}, alone: nobody reads along and nobody answers in between. Where this text names the
tools "read", "write", "edit", "list", "search" and "run", use yours that do the same. Two of its tools are files, which
you write with your own; they are the one exception to the rule that nothing is written below .autonomous/:
- "finish": write your result as JSON to ${folder}/${RESULT_FILE}, then end your turn. Without that file your work
  does not count. It has to fit this JSON Schema:
${schema}
${
  mayAsk
    ? `- "ask": write one question as JSON to ${folder}/${QUESTION_FILE}, then end your turn at once:
  {"question": "…", "context": "why it matters", "responseType": "text"}, or with a choice
  {"question": "…", "context": "…", "options": ["…", "…"], "responseType": "single_choice"}. The work goes on in a new
  session with the answer.`
    : '- There is no "ask" in this work: decide by yourself.'
}`;
}
