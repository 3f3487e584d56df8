/** The log of a run as an agent is told of it: what was decided, tried and found so far, a line each. Pure. */
import { isEvent, type WorkflowEvent } from '@autonomous/shared';

const LONGEST_LINE = 300;
/** Beginning of the notice about a file that an agent changed and that was left out. */
const NOT_TAKEN = 'Not taken from the sandbox: ';

/**
 * Summarizes the log for an agent call, oldest first. Answers, feedback and messages are left out, because the call gets them
 * as notes, in full.
 * @param through sequence of the event that started the call, so that a repeated call gets the same
 */
export function historyOf(events: readonly WorkflowEvent[], through: number): string[] {
  const told = new Set<string>();
  return events.flatMap((event) => {
    const line = event.sequence <= through ? lineOf(event) : null;
    if (line === null || told.has(line)) return [];
    if (isEvent(event, 'NOTICE')) told.add(line);
    return [`- ${shortened(line)}`];
  });
}

const FIXES = {
  retry: 'it was to be tried again',
  accept: 'a person accepted the result as it was',
  close: 'a person closed the pull request',
} as const;

function lineOf(event: WorkflowEvent): string | null {
  if (isEvent(event, 'STAGE_STARTED')) return `${event.payload.stage} began`;
  if (isEvent(event, 'APPROVAL_GRANTED')) return 'a person approved what was shown';
  if (isEvent(event, 'APPROVAL_REJECTED')) return 'a person rejected what was shown';
  if (isEvent(event, 'CLARIFICATION_REQUESTED')) return `a person was asked: ${event.payload.question.question}`;
  if (isEvent(event, 'CLARIFICATION_IGNORED')) return 'the question was left unanswered';
  if (isEvent(event, 'DECISION_RECORDED')) return `decided: ${event.payload.topic}: ${event.payload.choice}`;
  if (isEvent(event, 'IMPLEMENTATION_SUCCEEDED')) {
    const { summary, filesChanged } = event.payload;
    return `the implementation finished (${filesChanged.length} files changed so far): ${summary}`;
  }
  if (isEvent(event, 'EVIDENCE_RECORDED')) {
    const { mode, passed } = event.payload;
    return `the checks ${passed ? 'passed' : 'failed'} on the ${mode === 'as_is' ? 'result as it was' : "result with the base commit's tests"}`;
  }
  if (isEvent(event, 'VALIDATION_PASSED')) return `validation passed: ${event.payload.summary}`;
  if (isEvent(event, 'VALIDATION_FAILED'))
    return `validation failed (${event.payload.severity}): ${event.payload.summary}`;
  if (isEvent(event, 'FIX_DECIDED')) return FIXES[event.payload.decision];
  // That its record was looked at says nothing about the work.
  if (isEvent(event, 'RUN_PAUSED') && event.payload.reason === 'rebuilt') return null;
  if (isEvent(event, 'RUN_PAUSED')) return `paused (${event.payload.reason}): ${event.payload.message}`;
  if (isEvent(event, 'RETRY_REQUESTED')) return 'a person had it go on';
  if (isEvent(event, 'BASE_INTEGRATED')) return `the base branch ${event.payload.baseBranch} moved and was taken in`;
  // An agent that is not told would write the same file again in each call.
  if (isEvent(event, 'NOTICE') && event.payload.message.startsWith(NOT_TAKEN))
    return `not taken from the agent's folder: ${event.payload.message.slice(NOT_TAKEN.length)}`;
  return null;
}

function shortened(line: string): string {
  const flat = line.replaceAll(/\s+/g, ' ').trim();
  return flat.length > LONGEST_LINE ? `${flat.slice(0, LONGEST_LINE)}…` : flat;
}
