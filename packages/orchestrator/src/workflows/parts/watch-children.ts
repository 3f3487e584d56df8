/** The wait for child runs that come to a rest: they ask a person something, or they are at the end of their means. */
import { FINAL_STATUSES, type Gate, type RunView } from '@autonomous/shared';
import { failedChecksAt, gateCause, isUnchanged } from '@autonomous/shared/presentation';
import type { ActivityTools } from '../../activities/tools.ts';
import type { RunHeader } from '../../activities/types.ts';
import type { Activity } from '../../core/activity.ts';
import { redText } from './evidence.ts';

export type WatchInput = RunHeader & {
  /** Attempts under way. `seen` is the gate that is known. */
  readonly open: readonly { readonly actor: string; readonly seen: string | null }[];
};

/** A child run that waits at a gate. */
export type Rested = {
  readonly actor: string;
  readonly gate: string;
  /** `asks`: a person has to decide there. The others: the attempt has come to nothing. */
  readonly kind: 'asks' | 'unfinished' | 'untouched';
  /** The question of the gate, or the cause for which the attempt came to nothing in one line. */
  readonly why: string;
  /** Told to the agent of the next attempt. Absent: only the server has said something about this one, and that to a person. */
  readonly hint?: string;
  /** The question is about the result of this attempt alone, so that others can go on meanwhile. Absent: it may concern them all. */
  readonly ofResult?: true;
};

export interface WatchOptions {
  /** A question of an agent ends the attempt, and so does its failure: nobody is there to answer. Default: a person is waited for. */
  readonly nobodyAnswers?: boolean;
}

export function watchChildren(
  tools: Pick<ActivityTools, 'childRuns' | 'childSteps'>,
  options: WatchOptions = {},
): Activity<WatchInput, Rested> {
  return {
    retry: { attempts: 1_000, firstDelayMs: 1_000, maxDelayMs: 60_000 },
    onlyWaits: true,
    async perform({ runId, open }, { signal }) {
      const news = new News(signal);
      const end = tools.childSteps.onGate(runId, () => news.came());
      try {
        for (;;) {
          const children = await tools.childRuns(runId);
          for (const { actor, seen } of open) {
            // The key of a child run ends with the id of its actor.
            const child = children.find(
              ({ status, parent }) => !FINAL_STATUSES.has(status) && parent?.key.endsWith(`/${actor}`) === true,
            );
            const rested = child?.gate === null || child?.gate.id === seen ? null : restedAt(child, options);
            if (rested !== null) return { actor, ...rested };
          }
          await news.next();
        }
      } finally {
        end();
      }
    },
  };
}

/** News of which none is missed while the one before is looked at. */
class News {
  readonly #signal: AbortSignal;
  #next = Promise.withResolvers<void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.came());
  }

  came(): void {
    this.#next.resolve();
  }

  /** Resolves once something came since the last call. @throws the signal's reason once it is aborted */
  async next(): Promise<void> {
    if (!this.#signal.aborted) await this.#next.promise;
    this.#signal.throwIfAborted();
    this.#next = Promise.withResolvers<void>();
  }
}

/** Meaning of a gate at which a child run waits; `null`: it does not wait. */
export function restedAt(
  child: Pick<RunView, 'gate' | 'config' | 'evidence'> | undefined,
  { nobodyAnswers = false }: WatchOptions = {},
): Omit<Rested, 'actor'> | null {
  // A provider's limit ends by itself.
  if (child === undefined || child.gate === null || typeof child.gate.details['resumesInMs'] === 'number') return null;
  const { gate, config } = child;
  const isTrusted = (mode: string): boolean => config.trustMode[mode] === 'auto';
  const unfinished = {
    gate: gate.id,
    kind: 'unfinished',
    why: gateCause(gate, child),
    ...hintAt(gate, child),
  } as const;
  if (nobodyAnswers && isOfAttempt(gate)) return unfinished;
  // An agent has had its attempts, and nobody wanted to be asked about them.
  if (gate.kind === 'fix' && isTrusted('fixes')) return unfinished;
  if (gate.kind === 'implementation' && isUnchanged(gate) && isTrusted('implementation'))
    return { ...unfinished, kind: 'untouched' };
  const why = gate.kind === 'fix' ? gateCause(gate, child) : questionAt(gate);
  return {
    gate: gate.id,
    kind: 'asks',
    why,
    ...(nobodyAnswers && isOfResult(gate, isTrusted) ? { ofResult: true } : {}),
  };
}

/** Reasons of a pause that lie in the result of the attempt. */
const OF_RESULT: ReadonlySet<string | undefined> = new Set(['review_needed', 'secret_found']);

/** A trusted result waits for its concerns alone. */
function isOfResult({ kind, reason }: Gate, isTrusted: (mode: string) => boolean): boolean {
  return (kind === 'implementation' && isTrusted('implementation')) || (kind === 'pause' && OF_RESULT.has(reason));
}

/** Reasons of a pause that another attempt may do without: the agent came to no result, ran in circles, or ran out of time. */
const OF_ATTEMPT: ReadonlySet<string | undefined> = new Set(['agent_failed', 'stalled', 'timeout']);

/** The agent asks, or came to nothing by itself. Budgets, services and concerns are for a person all the same. */
function isOfAttempt({ kind, reason }: Gate): boolean {
  return kind === 'clarification' || kind === 'escalation' || (kind === 'pause' && OF_ATTEMPT.has(reason));
}

function questionAt({ summary, question, concerns = [] }: Gate): string {
  const asked = question?.question ?? summary;
  return concerns.length === 0 ? asked : `${asked}: ${concerns.map(({ title }) => title).join('; ')}`;
}

/** Failed checks, the words of a reviewer, or the agent's own question. The other words of a gate are the server's, for a person. */
function hintAt(gate: Gate, child: Pick<RunView, 'evidence'>): Pick<Rested, 'hint'> {
  const { question, details, summary } = gate;
  const failed = failedChecksAt({ gate, evidence: child.evidence });
  if (question !== undefined || isUnchanged(gate)) return { hint: gateCause(gate, child) };
  if (details['from'] === 'review')
    return {
      hint: [summary, details['feedback']].filter((part) => typeof part === 'string' && part !== '').join('\n'),
    };
  return failed === undefined ? {} : { hint: redText(failed) };
}
