/** Translates failures of E2B into errors that state who must act: time, or a person. */
import { NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import type { CommandResult as E2bResult } from 'e2b';

/** The exit code with which a script of ours says what the template lacks. */
export const MISSING_TOOLS = 90;

/** Names of the SDK's errors, which are looked at by name since the SDK is loaded only where it is used. */
const OF_THE_SDK =
  /^(?:SandboxError|TimeoutError|NotFoundError|SandboxNotFoundError|FileNotFoundError|CommandOutputLostError|RateLimitError|ServiceBusyError|ConnectError|AbortError)$/;
/** Messages of Node's fetch for a connection that could not be made, or that ended. */
const OF_THE_NETWORK = /fetch failed|terminated|other side closed|socket hang up|ECONNRE|ENOTFOUND|EAI_AGAIN|UND_ERR/;

export const OTHER_TEMPLATE = 'Set E2B_TEMPLATE to a template of your E2B team that is made from Debian or Ubuntu.';

/**
 * @param what says what could not be done; the error's own words are added
 * @returns the error itself where E2B has nothing to do with it
 */
export function explainE2bFailure(error: unknown, what: string): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (error instanceof NeedsHuman || error instanceof RetryableFailure || error instanceof TerminalFailure)
    return error;
  const message = `${what}: ${error.message}`;
  const options = { cause: error };
  if (isFailedScript(error)) return explainScript(error, what);
  switch (error.name) {
    case 'AuthenticationError':
    case 'InvalidArgumentError':
    case 'TemplateError':
      return new NeedsHuman('sandbox_unavailable', `${message}. ${wayOutOf(error)}`, options);
    case 'NotEnoughSpaceError':
      return new NeedsHuman('storage_full', `${message}. ${wayOutOf(error)}`, options);
    default:
      if (isRefusal(error)) return new NeedsHuman('sandbox_unavailable', `${message}. ${wayOutOf(error)}`, options);
      if (!OF_THE_SDK.test(error.name) && !OF_THE_NETWORK.test(`${error.message} ${String(error.cause)}`)) return error;
      return new RetryableFailure(message, { ...options, reason: 'sandbox_unavailable' });
  }
}

/** The line that a person can follow. */
export function wayOutOf(error: unknown): string {
  const origin = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (origin instanceof Error && isRefusal(origin)) return OTHER_TEMPLATE;
  switch (origin instanceof Error ? origin.name : '') {
    case 'AuthenticationError':
      return 'Set E2B_API_KEY to a key of your E2B team.';
    case 'InvalidArgumentError':
    case 'TemplateError':
    case 'CommandExitError':
    case 'NeedsHuman':
      return OTHER_TEMPLATE;
    case 'NotEnoughSpaceError':
      return 'Set E2B_TEMPLATE to a template with a larger disk.';
    case 'RateLimitError':
      return 'Wait, or let fewer runs work at the same time (MAX_CONCURRENT_RUNS_PER_USER).';
    default:
      return 'Check whether this server reaches E2B (E2B_API_URL, E2B_SANDBOX_URL where they are set) and whether E2B is up.';
  }
}

/** True for the control plane's answer to a template or an option that it does not know or allow. */
function isRefusal(error: Error): boolean {
  return error.name === 'SandboxError' && 'statusCode' in error && [400, 403, 404].includes(Number(error.statusCode));
}

function isFailedScript(error: Error): error is Error & E2bResult {
  return error.name === 'CommandExitError' && 'exitCode' in error;
}

function explainScript(error: Error & E2bResult, what: string): Error {
  const said = error.stderr.trim().slice(-1_000) || `a script of ours ended with exit code ${error.exitCode}`;
  const options = { cause: error };
  if (/No space left on device/.test(said)) {
    return new NeedsHuman(
      'storage_full',
      `The disk of the E2B sandbox is full: ${said}. Set E2B_TEMPLATE to one with a larger disk.`,
      options,
    );
  }
  if (error.exitCode === MISSING_TOOLS) {
    return new NeedsHuman(
      'sandbox_unavailable',
      `The template of E2B cannot be used: ${said}. ${wayOutOf(error)}`,
      options,
    );
  }
  return new RetryableFailure(`${what}: ${said}`, { ...options, reason: 'sandbox_unavailable' });
}
