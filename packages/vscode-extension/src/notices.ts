/**
 * Selects the changes that people are notified of while they look elsewhere: they are needed, a run was merged, a run that
 * counts its steps has completed, a run failed. The end of a child run is its parent's to tell.
 */
import {
  acceptsConcerns,
  bindingOf,
  type Decision,
  FINAL_STATUSES,
  type Gate,
  presentedAt,
  progressOf,
  type RunView,
  type WorkflowSummary,
} from '@autonomous/shared';
import { gateLine, isWaiting } from '@autonomous/ui';
import { COMMANDS, type CommandId } from './identifiers.ts';
import { plainMessage } from './plain-message.ts';
import { titleOf } from './run-tree-view.ts';

export interface Notice {
  /** The same change has the same key. */
  readonly key: string;
  readonly kind: 'needed' | 'merged' | 'completed' | 'failed';
  readonly runId: string;
  /** When it happened, by the server's clock. */
  readonly at: string;
  readonly text: string;
  readonly gate: Gate | null;
  /** The gate is about a document of the run. */
  readonly isOfDocument?: boolean;
}

/** `undefined` while a run's workflow is not known. */
type WorkflowOf = (run: RunView) => WorkflowSummary | undefined;

/** Everything worth a word as the runs are now, oldest first. */
export function noticesOf(runs: Readonly<Record<string, RunView>>, workflowOf: WorkflowOf): readonly Notice[] {
  return Object.values(runs)
    .flatMap((run) => noticeOf(run, workflowOf(run), run.parent && runs[run.parent.runId]) ?? [])
    .toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));
}

function noticeOf(run: RunView, workflow: WorkflowSummary | undefined, parent: RunView | undefined): Notice | null {
  const title = titleOf(run);
  const about = { runId: run.id, gate: null };
  if (FINAL_STATUSES.has(run.status)) {
    if (run.parent !== undefined) return null;
    const at = run.completedAt ?? run.updatedAt;
    if (run.failures !== undefined) {
      const text = `“${title}” has completed with failures: ${run.failures.join(' ')}`;
      return { ...about, key: `${run.id}/failed`, kind: 'failed', at, text };
    }
    if (run.merged) {
      const text = `“${title}” was merged into ${run.merged.baseBranch}.`;
      return { ...about, key: `${run.id}/merged`, kind: 'merged', at, text };
    }
    if (run.status === 'completed' && run.progress !== undefined) {
      const branch = run.published?.pushed === true ? ` Its result is pushed as ${run.published.branch}.` : '';
      const text = `“${title}” is complete: ${progressOf(run.progress, workflow)}.${branch}`;
      return { ...about, key: `${run.id}/completed`, kind: 'completed', at, text };
    }
    if (run.status !== 'failed') return null;
    return { ...about, key: `${run.id}/failed`, kind: 'failed', at, text: `“${title}” failed: ${run.failure ?? ''}` };
  }
  const { gate } = run;
  // A run at a rate limit goes on by itself.
  if (!isWaiting(run) || gate === null || gate.reason === 'rate_limited') return null;
  return {
    key: gate.id,
    kind: 'needed',
    runId: run.id,
    at: gate.openedAt,
    text: `“${title}”${parent === undefined ? '' : ` of “${titleOf(parent)}”`} – ${gateLine(gate, workflow)}`,
    gate,
    isOfDocument: presentedAt(workflow, gate, run.artifacts).kind === 'document',
  };
}

/** Is nobody needed any more, since the gate was decided or another one is open? */
export function isOver({ gate, runId }: Notice, runs: Readonly<Record<string, RunView>>): boolean {
  return gate !== null && runs[runId]?.gate?.id !== gate.id;
}

/** The editor cuts a longer message, and with it the links at its end. */
const MOST_CHARACTERS = 1_000;

/**
 * One message of words and links behind them. No link begins in others' words: they have no brackets; and they give way where
 * there is no room for both.
 */
export function messageOf(text: string, links: string): string {
  const words = plainMessage(text).replaceAll('[', '(').replaceAll(']', ')').trimEnd();
  const room = MOST_CHARACTERS - links.length - ELLIPSIS.length - 1;
  if (words.length > room) return `${words.slice(0, room)}${ELLIPSIS} ${links}`;
  return `${words}${/[.?!…]$/.test(words) ? '' : '.'} ${links}`;
}

const ELLIPSIS = '…';

/** Links to the commands for a notice. Each names the gate that the notice shows, so that it acts on no other gate. */
export function linksOf({ runId, gate, isOfDocument = false }: Notice): string {
  const links = actionsOf(gate, isOfDocument).map(({ title, command, decision }) => {
    const shown = gate === null ? {} : { shown: decision === null ? { gateId: gate.id } : bindingOf(decision, gate) };
    return `[${title}](command:${command}?${encodeURIComponent(JSON.stringify([{ runId, ...shown }]))} "${title}")`;
  });
  return links.join(' · ');
}

interface Action {
  readonly title: string;
  readonly command: CommandId;
  readonly decision: Decision | null;
}

function actionsOf(gate: Gate | null, isOfDocument: boolean): readonly Action[] {
  const review = isOfDocument ? COMMANDS.openPlan : COMMANDS.openRun;
  // Concerns that a message does not show are accepted in the review, and what a record brings is looked at there.
  const decisions = DECIDED_BY_LINK.filter(
    ({ decision }) =>
      gate?.decisions.includes(decision) === true && gate.reason !== 'rebuilt' && !acceptsConcerns(decision, gate),
  );
  return [{ title: 'Review', command: review, decision: null }, ...decisions];
}

const DECIDED_BY_LINK = [
  { title: 'Answer', command: COMMANDS.answer, decision: 'answer' },
  { title: 'Approve', command: COMMANDS.approve, decision: 'approve' },
  { title: 'Retry', command: COMMANDS.retry, decision: 'retry' },
] as const;

/** Remembers shown notices: over lost connections by key, over windows and days by the time of the newest. */
export class ToldNotices {
  readonly #told = new Set<string>();
  /** Events until this time are not news in this session. */
  #since: string;
  #until: string;

  /**
   * @param until time of the newest notice of an earlier session; `null` when there was none
   * @param now where nobody looked before, what has happened until now is no news
   */
  constructor(until: string | null, now: string) {
    this.#since = until ?? now;
    this.#until = this.#since;
  }

  /** Time of the newest notice told or passed over. */
  get until(): string {
    return this.#until;
  }

  /** The ones that were told neither in this session nor in an earlier one. They may come in any order. */
  fresh(notices: readonly Notice[]): readonly Notice[] {
    const news = notices.filter(({ key, at }) => at > this.#since && !this.#told.has(key));
    for (const { key, at } of news) {
      this.#told.add(key);
      if (at > this.#until) this.#until = at;
    }
    return news;
  }

  /** Another server's runs are known to nobody. */
  forget(now: string): void {
    this.#told.clear();
    this.#since = now;
    this.#until = now;
  }
}
