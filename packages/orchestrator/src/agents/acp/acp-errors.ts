/**
 * Classifies errors of an external agent's turn by who must act and when a retry makes sense. The classification uses
 * error codes and well-known provider messages. The agent has already retried by itself. Pure.
 */
import type { RequestError } from '@agentclientprotocol/sdk';
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { z } from 'zod';
import { retryAfter, waitFrom } from '../tool-loop/model-errors.ts';

/** Error code of an agent that is not signed in. */
export const AUTH_REQUIRED = -32_000;

/** Characters of an error that are examined, and that are shown to a person. */
const READ_CHARACTERS = 4_000;
const SHOWN_CHARACTERS = 600;

/** `overloaded` passes by itself, most often within minutes. */
type ProviderFault = 'limit' | 'overloaded' | 'key' | 'credit' | 'other';

/** Fields that say something of the fault; any other shape says nothing. */
const dataSchema = z
  .looseObject({
    errorKind: z.string().optional().catch(undefined),
    status: z.number().optional().catch(undefined),
    statusCode: z.number().optional().catch(undefined),
    retryAfterMs: z.number().optional().catch(undefined),
    /** Seconds, a duration or a date, as in the header. */
    retryAfter: z.coerce.string().optional().catch(undefined),
    /** Seconds or milliseconds since the epoch, or a date. */
    resetsAt: z.coerce.string().optional().catch(undefined),
  })
  .catch({});
type ErrorData = z.output<typeof dataSchema>;

/** Kinds as claude-agent-acp names them, from Claude's SDK; those that are absent are of another sort. */
const KINDS: ReadonlyMap<string, ProviderFault> = new Map([
  ['rate_limit', 'limit'],
  ['overloaded', 'overloaded'],
  ['authentication_failed', 'key'],
  ['oauth_org_not_allowed', 'key'],
  ['verification_required', 'key'],
  ['cloud_credential_error', 'key'],
  ['billing_error', 'credit'],
  ['account_on_hold', 'credit'],
]);

const STATUSES: Readonly<Record<number, ProviderFault>> = {
  401: 'key',
  402: 'credit',
  403: 'key',
  429: 'limit',
  529: 'overloaded',
};

const CREDIT =
  /insufficient[_ ](?:quota|credits?|balance|funds)|credit balance is too low|out of (?:usage )?credits|exceeded your current quota|check your plan and billing|billing_(?:error|hard_limit)|payment required/i;
/** The first that fits counts: a provider says "too many requests" of an account without credit as well. */
const WORDS: readonly (readonly [RegExp, ProviderFault])[] = [
  [CREDIT, 'credit'],
  [
    /too many requests|rate[ _-]?limit(?:ed|s)?[ _](?:reached|exceeded|error|hit)|exceeds? .{0,60}\brate limit|resource[_ ]exhausted|quota exceeded|usage limit(?: has been)? (?:reached|exceeded)|hit your .{0,30}\blimit/i,
    'limit',
  ],
  [/overloaded_error|\b(?:is|are|currently|temporarily) overloaded|^overloaded\b/i, 'overloaded'],
  [
    /(?:invalid|incorrect|missing)[ _-](?:x[ -])?api[ _-]?key|api key (?:is )?(?:not valid|invalid|expired)|authentication_error|invalid authentication|permission_error|^(?:unauthorized|forbidden):/i,
    'key',
  ],
];
/** A status is known by what stands before it: a bare figure may be anything. */
const STATUS_WORDS =
  /(?:\b(?:http|status(?: code)?|error)[ :=(]{1,3}|^(?=\d{3}(?: ?[{:]| status|$))|\()(401|402|403|429|529)\b/i;

/**
 * @param limitEndsAt when the limit ends that its provider has last told it of, milliseconds since the epoch; `null`: not known
 * @param now milliseconds since the epoch
 * @returns `RetryableFailure` with `rate_limited` for a limit, with the time that it ends where that is known
 */
export function classifyAgentError(
  error: RequestError,
  agent: string,
  limitEndsAt: number | null,
  now: number,
): NeedsHuman | RetryableFailure {
  const data = dataSchema.parse(error.data);
  const words = wordsOf(error);
  const said = shown(words);
  const stated = statedFault(error, data);
  const fault = stated ?? wordedFault(words);
  const retryAfterMs = retryAfter([
    data.retryAfterMs,
    data.retryAfter === undefined ? undefined : waitFrom(data.retryAfter, now),
    data.resetsAt === undefined ? undefined : waitFrom(data.resetsAt, now),
    fault === 'limit' && limitEndsAt !== null && limitEndsAt > now ? limitEndsAt - now : undefined,
    waitInWords(words, now),
  ]);
  if (fault === 'key') {
    // The provider's own words can hold a part of the key.
    return new NeedsHuman(
      'model_unavailable',
      `The agent ${agent} is not signed in, or its provider refused its key. Give it a valid one by "env" in the file of AUTONOMOUS_AGENTS, restart the server, then retry.`,
      { cause: error },
    );
  }
  // Some providers say the same of an account without credit and of one that has used up a minute's quota.
  const lacksCredit = stated === 'credit' || (CREDIT.test(words) && retryAfterMs === undefined);
  if (lacksCredit && (fault === 'credit' || fault === 'limit')) {
    return new NeedsHuman(
      'model_unavailable',
      `The account behind the agent ${agent} has no credit left: ${said}. Top it up, then retry; or fork the run with another model.`,
      { cause: error },
    );
  }
  if (fault === 'limit' || (fault !== 'other' && retryAfterMs !== undefined)) {
    return new RetryableFailure(`The provider of the agent ${agent} limits the rate: ${said}`, {
      cause: error,
      reason: 'rate_limited',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  return new RetryableFailure(`The agent ${agent} failed: ${said}`, { cause: error, reason: 'model_unavailable' });
}

/** @returns `undefined` where only the words say something */
function statedFault({ code }: RequestError, { errorKind, status, statusCode }: ErrorData): ProviderFault | undefined {
  if (code === AUTH_REQUIRED) return 'key';
  if (errorKind !== undefined) return KINDS.get(errorKind) ?? 'other';
  // Gemini gives the status of its provider's answer as the code of its own.
  return STATUSES[statusCode ?? status ?? code];
}

function wordedFault(words: string): ProviderFault {
  const found = WORDS.find(([pattern]) => pattern.test(words));
  if (found !== undefined) return found[1];
  const status = STATUS_WORDS.exec(words)?.[1];
  return STATUSES[Number(status)] ?? 'other';
}

const FIGURE = String.raw`\d+(?:\.\d+)?`;
const UNIT = '(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)';
/** `try again in 6m0s`, `retry after 30 seconds`, `it will reset in 2 hours 5 minutes` */
// oxlint-disable-next-line autonomous/linear-expressions -- a figure, a unit and what joins them share no characters
const DURATION = new RegExp(
  String.raw`\b(?:retry|try again|reset)[ -](?:after|in)[: ]+((?:${FIGURE} ?${UNIT}(?:,? and |,? )?)+)(?![a-z])`,
  'i',
);
// oxlint-disable-next-line autonomous/linear-expressions -- a figure, a unit and what joins them share no characters
const RETRY_SECONDS = new RegExp(String.raw`\bretry[ -]after[": ]+(${FIGURE})(?![\w.])`, 'i');
/** Older versions of Claude Code: seconds since the epoch. */
const EPOCH = /usage limit reached\|(\d{10})\b/i;
const DATE = /\breset(?:s|ting)? (?:at|on) (\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))/i;
/** Claude Code: `resets 3pm (UTC)`, `resets 3:30pm (UTC)`, `resets Oct 6, 1pm (UTC)`. The clock of a sandbox runs in UTC. */
const CLOCK = /\bresets (?:([A-Z][a-z]{2} \d{1,2})(?:, (\d{4}))?, )?(\d{1,2})(?::(\d\d))?([ap]m) \((?:Etc\/)?UTC\)/;

/** Milliseconds until the time that a text names; `undefined` where it names none. */
function waitInWords(words: string, now: number): number | undefined {
  const duration = DURATION.exec(words)?.[1];
  if (duration !== undefined) {
    const parts = duration.matchAll(/(?<![\d.])([\d.]+) ?(milli|ms|[dhms])/gi);
    const text = [...parts].map(([, figure, unit = 's']) => figure + (unit === 'milli' ? 'ms' : unit)).join('');
    return waitFrom(text.toLowerCase(), now);
  }
  const figure = EPOCH.exec(words)?.[1] ?? DATE.exec(words)?.[1] ?? RETRY_SECONDS.exec(words)?.[1];
  return figure === undefined ? waitOnClock(words, now) : waitFrom(figure, now);
}

const DAY_MS = 24 * 60 * 60 * 1_000;

function waitOnClock(words: string, now: number): number | undefined {
  const match = CLOCK.exec(words);
  if (match === null) return undefined;
  const [, date, year, hour, minutes = '00', half] = match;
  const time = `${String((Number(hour) % 12) + (half === 'pm' ? 12 : 0)).padStart(2, '0')}:${minutes}`;
  const today = new Date(now);
  if (date !== undefined) return Date.parse(`${date}, ${year ?? today.getUTCFullYear()} ${time} UTC`) - now;
  const wait = Date.parse(`${today.toISOString().slice(0, 10)}T${time}Z`) - now;
  return wait > 0 ? wait : wait + DAY_MS;
}

/** Without what the SDK puts before the words of an agent that has none of the protocol's own. */
function wordsOf({ message, data }: RequestError): string {
  const parts = [message.slice(0, READ_CHARACTERS).replace(/^internal error(?:: |$)/i, ''), detailsOf(data)];
  return parts.filter((part) => part !== '').join(': ') || 'it gave no reason';
}

function shown(words: string): string {
  const line = words.replace(/\s+/g, ' ').trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}

function detailsOf(data: unknown): string {
  if (typeof data === 'string') return data.slice(0, READ_CHARACTERS);
  if (typeof data === 'object' && data !== null && 'details' in data) return detailsOf(data.details);
  return data === undefined || data === null ? '' : JSON.stringify(data).slice(0, READ_CHARACTERS);
}
