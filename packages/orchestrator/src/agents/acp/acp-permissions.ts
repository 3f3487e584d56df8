/** Decides an external agent's permission request: by policy, or as a question to a person. Pure. */
import { hash } from 'node:crypto';
import type { PermissionOption, RequestPermissionRequest } from '@agentclientprotocol/sdk';
import type { Question } from '@autonomous/shared';

export const PERMISSION_POLICIES = ['allow', 'deny', 'ask'] as const;
export type PermissionPolicy = (typeof PERMISSION_POLICIES)[number];

/** Kinds of tool calls by the protocol. */
export const TOOL_KINDS = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];

export type PermissionRules = { readonly default: PermissionPolicy } & {
  readonly [Kind in ToolKind]?: PermissionPolicy | undefined;
};

export type PermissionDecision =
  | { readonly kind: 'select'; readonly option: PermissionOption }
  /** Refused where the agent offers no option that says so. */
  | { readonly kind: 'refuse' }
  | { readonly kind: 'ask'; readonly question: Question };

/** Added where an agent offers nothing to refuse with: a person must be able to. */
const REFUSE = 'Do not allow';
const LONGEST_TITLE = 500;
const LONGEST_DETAILS = 3_000;
/** As many as a person is asked to choose from at most. */
const MOST_OPTIONS = 10;

/**
 * @param agent its name in the configuration
 * @param answers what people answered in this run, `Question: …\nAnswer: …`, oldest first: what was asked once is not asked again
 */
export function decidePermission(
  agent: string,
  rules: PermissionRules,
  { toolCall, options }: Pick<RequestPermissionRequest, 'toolCall' | 'options'>,
  answers: readonly string[],
): PermissionDecision {
  const kind = toolKind(toolCall.kind);
  const policy = rules[kind] ?? rules.default;
  if (policy === 'allow') return selectFirst(options, ['allow_once', 'allow_always']);
  if (policy === 'deny') return selectFirst(options, ['reject_once', 'reject_always']);

  const subject = `The agent ${agent} asks for permission (${kind}): `;
  const title = oneLine(toolCall.title ?? toolCall.toolCallId).slice(0, LONGEST_TITLE);
  const question = `${subject}${title}${mark(toolCall)}`;
  const offered = options.slice(0, MOST_OPTIONS);
  const names = distinct(offered.map(({ name }) => oneLine(name).slice(0, LONGEST_TITLE)));
  const answer = answerTo(question, answers);
  if (answer !== null) {
    const chosen = options.find((option) => oneLine(option.name).slice(0, LONGEST_TITLE) === answer);
    // Other words than one of the options are no permission; the agent reads them among the notes of its prompt.
    return chosen === undefined
      ? selectFirst(options, ['reject_once', 'reject_always'])
      : { kind: 'select', option: chosen };
  }
  const lasting = lastingAnswer(subject, options, answers);
  if (lasting !== null) return lasting;
  const canRefuse = offered.some((option) => option.kind.startsWith('reject'));
  return {
    kind: 'ask',
    question: {
      question,
      context: details(toolCall.rawInput),
      options: canRefuse && names.length > 1 ? names : distinct([...names, REFUSE]),
      responseType: 'single_choice',
    },
  };
}

function toolKind(kind: string | null | undefined): ToolKind {
  return TOOL_KINDS.find((known) => known === kind) ?? 'other';
}

/** The first kind that is offered; options for once come before those that an agent would remember by itself. */
function selectFirst(options: readonly PermissionOption[], kinds: readonly string[]): PermissionDecision {
  for (const kind of kinds) {
    const option = options.find((candidate) => candidate.kind === kind);
    if (option !== undefined) return { kind: 'select', option };
  }
  return { kind: 'refuse' };
}

function answerTo(question: string, answers: readonly string[]): string | null {
  const start = `Question: ${question}\nAnswer: `;
  const found = answers.findLast((answer) => answer.startsWith(start));
  return found === undefined ? null : found.slice(start.length).trim();
}

/** "Always" said to another call of the same kind holds for this one: the agent itself has forgotten it by now. */
function lastingAnswer(
  subject: string,
  options: readonly PermissionOption[],
  answers: readonly string[],
): PermissionDecision | null {
  for (const answer of answers.filter((text) => text.startsWith(`Question: ${subject}`)).toReversed()) {
    const option = options.find(
      ({ kind, name }) => kind.endsWith('_always') && answer.endsWith(`\nAnswer: ${oneLine(name)}`),
    );
    if (option !== undefined) {
      const once = options.find(({ kind }) => kind === option.kind.replace('_always', '_once'));
      return { kind: 'select', option: once ?? option };
    }
  }
  return null;
}

/**
 * Tells calls apart that have the same title: some agents call every command `bash`, and a title may be cut. Any other input is
 * another call, except for the description of a command: it has no effect, and models word it differently each time.
 */
function mark({ kind, rawInput }: Pick<RequestPermissionRequest['toolCall'], 'kind' | 'rawInput'>): string {
  if (rawInput === undefined || rawInput === null) return '';
  const { description, ...input } = rawInput as { readonly command?: unknown; readonly description?: unknown };
  const isCommand = kind === 'execute' && typeof input.command === 'string' && typeof description === 'string';
  return ` [${hash('sha256', JSON.stringify(isCommand ? input : rawInput)).slice(0, 12)}]`;
}

function details(rawInput: unknown): string {
  if (rawInput === undefined || rawInput === null) return '';
  const text = typeof rawInput === 'string' ? rawInput : JSON.stringify(rawInput, null, 2);
  const more = text.length - LONGEST_DETAILS;
  return more <= 0
    ? text
    : `${text.slice(0, LONGEST_DETAILS)}…\n[${more} more ${more === 1 ? 'character' : 'characters'} are not shown]`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}
