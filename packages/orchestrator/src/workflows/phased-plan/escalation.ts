/** Texts for a person when a phase is over its budget of retries. Pure. */

/** One attempt at a phase: what an agent did, and what was found wrong with it. */
export interface Attempt {
  readonly action: 'implement' | 'fix' | 'review' | 'verify';
  /** The agent's summary of its work; empty if it gave none. */
  readonly summary: string;
  /** The failure of the attempt, in full. */
  readonly error: string;
}

export interface Escalation {
  readonly phase: number;
  readonly planPath: string;
  /** Since the phase began or a person last decided, oldest first: the first try and its retries. */
  readonly attempts: readonly Attempt[];
  /** Where the work lies for a person who fixes it by hand; `null` where it could not be pushed. */
  readonly branch: string | null;
  /** Default: true. */
  readonly isHandFixOffered?: boolean;
  /** Absent: the retries are used up. */
  readonly limit?: string;
}

const LONGEST_ERROR = 4_000;
const LONGEST_SUMMARY = 500;

/** The message of a blocked phase: its last error, a summary of each retry, and the ways on. */
export function escalationText({
  phase,
  planPath,
  attempts,
  branch,
  isHandFixOffered = true,
  limit,
}: Escalation): string {
  const resumed = `plan run ${quoted(planPath)} --resume`;
  const retries = attempts.slice(1);
  const last = attempts.at(-1)?.error.trim() ?? '';
  return [
    `⛔ Phase ${phase} blocked after ${counted(retries.length)}${limit === undefined ? '' : ` (${limit})`}.`,
    '',
    'Last error:',
    last.length > LONGEST_ERROR ? `${last.slice(0, LONGEST_ERROR)}…` : last || 'none',
    '',
    'Attempted fixes:',
    '',
    ...(retries.length === 0 ? ['none'] : retries.map((attempt, index) => `${index + 1}. ${retryLine(attempt)}`)),
    '',
    ...(isHandFixOffered
      ? [
          'Please review and either:',
          '',
          `- Fix manually${branch === null ? '' : ` on the branch ${branch}`} and give the command: ${resumed}`,
          `- Provide guidance for next attempt with the command: ${resumed} --guidance "…"`,
        ]
      : [
          'The branch of the phase could not be pushed, so that it cannot be fixed by hand there. Please review and:',
          '',
          `- Provide guidance for next attempt with the command: ${resumed} --guidance "…"`,
        ]),
  ].join('\n');
}

/** The same in one line, for lists and notifications. */
export function escalationLine({ phase, attempts, limit }: Escalation): string {
  const error = onOneLine(attempts.at(-1)?.error ?? '');
  const why = limit ?? `blocked after ${counted(attempts.length - 1)}`;
  return `Phase ${phase} ${limit === undefined ? why : `is blocked: ${why}`}${error === '' ? '' : `: ${shortened(error, 200)}`}`;
}

function counted(retries: number): string {
  return `${retries} ${retries === 1 ? 'attempt' : 'attempts'}`;
}

function retryLine({ action, summary, error }: Attempt): string {
  const said =
    onOneLine(summary) ||
    { implement: 'Implemented again', fix: 'No summary', review: 'Reviewed again', verify: 'Verified again' }[action];
  return `${shortened(said, LONGEST_SUMMARY)} → ${shortened(onOneLine(error), LONGEST_SUMMARY)}`;
}

function onOneLine(text: string): string {
  return text.trim().split(/\s+/).join(' ');
}

function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** For a POSIX shell. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
