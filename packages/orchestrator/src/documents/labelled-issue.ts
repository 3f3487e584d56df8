/** Texts of a run that an issue with a label starts: its request, and the comment that says how far it is. Pure. */
import { type Gate, type RunView, showHidden } from '@autonomous/shared';
import { code } from './quoted-markdown.ts';
import { shownMarkdown } from './shown-markdown.ts';

export interface IssueText {
  readonly url: string;
  readonly title: string;
  readonly body: string;
  /** Whether the body is only the beginning of it. */
  readonly isClipped: boolean;
}

/** A request may have 20,000 characters; the rest is for what is said about the issue. */
const MAX_TEXT = 19_000;

/**
 * Title and body of an issue as a request. The person who put the label there has seen the issue as GitHub shows it: what
 * its rendering hides is left out, and hidden characters are escapes.
 */
export function requestOfIssue({ title, body, url, isClipped }: IssueText): string {
  const whole = showHidden(`${title}\n\n${shownMarkdown(body.replaceAll('\r\n', '\n'))}`).trim();
  if (!isClipped && whole.length <= MAX_TEXT) return whole;
  // No half of a surrogate pair is left at the end.
  const begin = whole.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '');
  return `${begin}\n\n[The issue is longer: ${url}]`;
}

/**
 * The comment on the issue, which anyone may be able to read: it has no word of people, agents or the project. It mentions
 * nobody and closes nothing.
 */
export function commentOfRun(
  view: Pick<RunView, 'id' | 'status' | 'gate' | 'failures' | 'published' | 'rebuiltUpTo'>,
): string {
  // Anybody who can push may have written a record.
  const { pullRequest, branch } = (view.rebuiltUpTo === undefined ? view.published : undefined) ?? {};
  const result =
    pullRequest !== undefined
      ? [`[Pull request ${pullRequest.number}](${pullRequest.url})`]
      : branch === undefined
        ? []
        : [`Branch: ${code(branch)}`];
  return [`Run ${code(view.id)} was started for this issue. ${stateOf(view)}`, ...result].join('\n\n');
}

function stateOf({ status, gate, failures }: Pick<RunView, 'status' | 'gate' | 'failures'>): string {
  switch (status) {
    case 'queued':
      return 'It waits for a free run slot.';
    case 'running':
    case 'awaiting_children':
      return 'It works.';
    case 'awaiting_approval':
    case 'awaiting_clarification':
    case 'paused':
      return gate === null ? 'It waits for a person.' : `It waits for a person at ${nameOf(gate)}.`;
    case 'completed':
      return failures === undefined ? 'It has completed.' : 'It has completed with failures.';
    case 'failed':
      return 'It has failed.';
    case 'cancelled':
      return 'It was cancelled.';
    default:
      return status satisfies never;
  }
}

function nameOf({ kind, reason }: Gate): string {
  return `the gate ${code(kind)}${reason === undefined ? '' : ` (${code(reason)})`}`;
}

/** The comment on an issue that starts no run, because it could spend without a limit. */
export const NO_BUDGET_COMMENT =
  'No run was started for this issue: this project has no budget, and a run could spend without a limit. Set one, such as `maxCostUsd` below `defaultRunConfig` in `.autonomous/config.json` or `DEFAULT_MAX_COST_USD` of the server, then take the label away and put it there again.';

/** The comment on an issue that its author, who may not write, changed after somebody had put the label there. */
export const CHANGED_COMMENT =
  'No run was started for this issue: it was changed after it got its label. Read it again, then take the label away and put it there again.';

/** The comment on an issue for which the server refuses to start a run. The reason may be nobody else's business. */
export const REFUSED_COMMENT =
  'No run was started for this issue: the server refused it, and its log says why. Correct that, then take the label away and put it there again.';
