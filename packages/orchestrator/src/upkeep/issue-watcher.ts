/**
 * Starts a run for each issue to which a person who may write gave a label, and keeps one comment there that says how far the
 * run is. It looks at each repository every minute, and at once when there are news of it; all facts come from these looks.
 *
 * A run is started once for each labelling: its id follows from the issue and the time of its label, so that a repeated look, a
 * crash between start and comment, or a lost mark finds the same run again. The mark holds how far a repository was looked
 * through, and the runs whose last comment is not written yet.
 */
import { type Project, RetryableFailure, type RunView } from '@autonomous/shared';
import type { Logger } from 'pino';
import { z } from 'zod';
import { CHANGED_COMMENT, commentOfRun, NO_BUDGET_COMMENT, REFUSED_COMMENT } from '../documents/labelled-issue.ts';
import { isFinal } from '../core/advance.ts';
import { runIdOf } from '../core/run-id.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { type Forge, ForgeRefusal, keyOfRepository, type LabelledIssue, type RepositoryName } from '../forges/forge.ts';
import type { ForgeNews } from '../forges/forge-news.ts';
import type { Clock } from '../engine/clock.ts';
import type { EngineMessage } from '../engine/step-feed.ts';

export interface WatchedProject {
  readonly project: Project;
  readonly name: RepositoryName;
}

export interface IssueLaunch {
  readonly project: Project;
  readonly issue: LabelledIssue;
  /** Login of the person who put the label there. */
  readonly login: string;
  /** The same key gives the same run, `runIdOf` of it. */
  readonly key: string;
}

/** `changed`: the request is no longer what the person saw. `no_budget`: the run could spend without a limit. `refused`: the launch is faulty, and a repetition does not change that. */
export type IssueLaunchOutcome = RunView | keyof typeof COMMENTS | 'started_elsewhere';

export interface IssueWatcherOptions {
  readonly store: Pick<EventStore, 'getMark' | 'setMark' | 'loadView'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly label: string;
  readonly forge: Pick<Forge, 'repository'>;
  readonly forgeNews: Pick<ForgeNews, 'next'>;
  /** Projects at the forge, oldest first. Only the oldest one of a repository is watched. */
  readonly projects: () => Promise<readonly WatchedProject[]>;
  /** Starts a run. A rejection is tried again with the next look. */
  readonly launch: (launch: IssueLaunch) => Promise<IssueLaunchOutcome>;
}

const COMMENTS = { changed: CHANGED_COMMENT, no_budget: NO_BUDGET_COMMENT, refused: REFUSED_COMMENT } as const;
const EVERY_MS = 60_000;
/** Between two looks at a repository, whatever news there are, and between two edits of a comment. */
const GAP_MS = 5_000;
/** New runs of one look at a repository; further issues come with the next one. */
const MOST_STARTED = 5;
/** The forge tells no more issues than this at a time. */
const MOST_ISSUES = 500;
const LOOKS_AT_ONCE = 8;

/** The run of an issue, whose comment is kept up to date. */
interface FollowedRun {
  readonly number: number;
  readonly runId: string;
  view: RunView;
  /** Text that the comment has; `null` while it is not known. */
  shown: string | null;
  isWriting: boolean;
  writtenAt: number;
  cancelTimer: (() => void) | null;
}

interface WatchedRepository extends WatchedProject {
  /** Time of the newest change that was seen, as the forge tells it. */
  since: string | null;
  /** By number of the issue. */
  readonly runs: Map<number, FollowedRun>;
  /** Ids of runs of the last look about which nothing is left to say. */
  done: ReadonlySet<string>;
  /** Mark as it was stored last. */
  stored: string | null;
  /** What fails now, so that the log has it once. */
  readonly failing: Set<string>;
}

const markSchema = z.object({
  since: z.string().nullable(),
  runs: z.array(z.object({ number: z.int().positive(), runId: z.string() })),
});

export class IssueWatcher {
  readonly #options: IssueWatcherOptions;
  readonly #stopping = new AbortController();
  /** By repository. */
  readonly #watched = new Map<string, WatchedRepository>();
  readonly #loops = new Set<Promise<void>>();
  readonly #turns: (() => void)[] = [];
  #looks = 0;
  #isStarted = false;

  constructor(options: IssueWatcherOptions) {
    this.#options = options;
  }

  /** Watches the repositories of all projects, also of those that are added later. */
  start(): void {
    this.#isStarted = true;
    this.#goOn(async () => {
      for (; !this.#isStopped; await this.#pause(EVERY_MS)) await this.discover();
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    for (const { runs } of this.#watched.values()) for (const { cancelTimer } of runs.values()) cancelTimer?.();
    await Promise.all(this.#loops);
  }

  /** Begins to watch the repositories of projects that are new. Does nothing before the start. */
  async discover(): Promise<void> {
    const { projects, log } = this.#options;
    if (!this.#isStarted) return;
    try {
      for (const each of await projects()) {
        const key = keyOfRepository(each.name);
        if (this.#isStopped || this.#watched.has(key)) continue;
        const watched = {
          ...each,
          since: null,
          runs: new Map(),
          done: new Set<string>(),
          stored: null,
          failing: new Set<string>(),
        };
        this.#watched.set(key, watched);
        this.#goOn(() => this.#watch(watched));
      }
    } catch (error) {
      log.warn({ err: error }, 'the projects could not be read; issues of new ones are looked at later');
    }
  }

  /** Must be called with every message that the engine publishes. */
  receive(message: EngineMessage): void {
    if (!('view' in message)) return;
    for (const watched of this.#watched.values()) {
      for (const run of watched.runs.values()) {
        if (run.runId !== message.view.id) continue;
        run.view = message.view;
        this.#show(watched, run);
      }
    }
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  #goOn(work: () => Promise<void>): void {
    const loop: Promise<void> = work()
      .catch((error: unknown) => {
        if (!this.#isStopped)
          this.#options.log.error({ err: error }, 'issues of a repository are not watched any more');
      })
      .finally(() => this.#loops.delete(loop));
    this.#loops.add(loop);
  }

  async #watch(watched: WatchedRepository): Promise<void> {
    const { signal } = this.#stopping;
    const { clock, forgeNews } = this.#options;
    let isRead = false;
    while (!this.#isStopped) {
      // Also news that come during the look lead to another one.
      const news = forgeNews.next(watched.name, EVERY_MS, signal);
      news.catch(() => {});
      const waitMs = await this.#attempt(watched, 'its issues cannot be read', async () => {
        if (!isRead) await this.#readMark(watched);
        isRead = true;
        await this.#inTurn(() => this.#look(watched));
      });
      const lookedAt = clock.now().getTime();
      if (waitMs === null) await news.catch(() => false);
      await this.#pause(waitMs ?? lookedAt + GAP_MS - clock.now().getTime());
    }
  }

  /** @returns the time after which to try again; `null` when it did not fail */
  async #attempt(watched: WatchedRepository, what: string, act: () => Promise<void>): Promise<number | null> {
    const { log } = this.#options;
    try {
      await act();
      if (watched.failing.delete(what)) log.info({ projectId: watched.project.id }, `no longer so: ${what}`);
      return null;
    } catch (error) {
      if (this.#isStopped) return EVERY_MS;
      const why = error instanceof Error ? error.message : String(error);
      if (!watched.failing.has(what))
        log.warn({ err: error, projectId: watched.project.id }, `${what}; it is tried again: ${why}`);
      watched.failing.add(what);
      return Math.max(EVERY_MS, (error instanceof RetryableFailure ? error.retryAfterMs : undefined) ?? 0);
    }
  }

  async #look(watched: WatchedRepository): Promise<void> {
    const { forge, label } = this.#options;
    const { signal } = this.#stopping;
    const issues = await forge
      .repository(watched.name, signal, watched.project.id)
      .issuesWithLabel(label, watched.since ?? undefined);
    let isWhole = issues.length < MOST_ISSUES;
    let started = 0;
    let failure: Error | null = null;
    const done = new Set<string>();
    for (const issue of issues) {
      if (this.#isStopped) return;
      const key = keyOfLabelling(watched.project, issue);
      if (key === null) continue;
      const runId = runIdOf(key);
      const known = watched.runs.get(issue.number);
      if (known?.runId === runId) continue;
      if (watched.done.has(runId)) done.add(runId);
      // Labelled once more while its run goes on, or too many at once: they come with a later look.
      else if ((known !== undefined && !isFinal(known.view.status)) || started >= MOST_STARTED) isWhole = false;
      else {
        try {
          if (await this.#take(watched, issue, key)) started += 1;
          else done.add(runId);
        } catch (error) {
          // The other issues do not wait for this one.
          failure ??= error instanceof Error ? error : new Error(String(error));
          isWhole = false;
        }
      }
    }
    watched.done = done;
    if (isWhole) watched.since = newest([watched.since, ...issues.map(({ updatedAt }) => updatedAt)]);
    await this.#storeMark(watched);
    if (failure !== null) throw failure;
  }

  /** @returns whether the issue has a run here */
  async #take(watched: WatchedRepository, issue: LabelledIssue, key: string): Promise<boolean> {
    const { store, launch } = this.#options;
    const { project } = watched;
    const login = issue.labelledBy?.login ?? '';
    const outcome =
      (await store.loadView(runIdOf(key))) ??
      (issue.isChangedSince ? 'changed' : await launch({ project, issue, login, key }));
    if (outcome === 'started_elsewhere') return false;
    if (typeof outcome === 'string') {
      await this.#comment(watched, issue.number, COMMENTS[outcome]);
      return false;
    }
    await this.#follow(watched, issue.number, outcome.id);
    return true;
  }

  async #follow(watched: WatchedRepository, number: number, runId: string): Promise<void> {
    const { store } = this.#options;
    const view = await store.loadView(runId);
    if (view === null) return;
    watched.runs.get(number)?.cancelTimer?.();
    const run = { number, runId, view, shown: null, isWriting: false, writtenAt: 0, cancelTimer: null };
    watched.runs.set(number, run);
    this.#show(watched, run);
    // Steps before it was followed were not told here.
    const now = await store.loadView(runId);
    if (now !== null && now.lastSequence > run.view.lastSequence) this.receive({ events: [], view: now });
  }

  /** Has the comment written, when it says something else by now. */
  #show(watched: WatchedRepository, run: FollowedRun, afterMs = 0): void {
    if (this.#isStopped || run.isWriting || run.cancelTimer !== null) return;
    if (watched.runs.get(run.number) !== run) return;
    if (run.shown === commentOfRun(run.view)) {
      if (!isFinal(run.view.status)) return;
      watched.runs.delete(run.number);
      watched.done = new Set([...watched.done, run.runId]);
      void this.#attempt(watched, 'how far its issues are cannot be stored', () => this.#storeMark(watched));
      return;
    }
    const { clock } = this.#options;
    const dueAt = run.writtenAt + GAP_MS;
    run.cancelTimer = clock.after(Math.max(afterMs, dueAt - clock.now().getTime()), () => {
      run.cancelTimer = null;
      this.#goOn(() => this.#write(watched, run));
    });
  }

  async #write(watched: WatchedRepository, run: FollowedRun): Promise<void> {
    const { clock } = this.#options;
    run.isWriting = true;
    const body = commentOfRun(run.view);
    const waitMs = await this.#attempt(watched, 'the comment on an issue cannot be written', async () => {
      await this.#comment(watched, run.number, body);
      run.shown = body;
    });
    run.writtenAt = clock.now().getTime();
    run.isWriting = false;
    this.#show(watched, run, waitMs ?? 0);
  }

  /** Writes the comment, or edits it when it has another text. */
  async #comment({ project, name }: WatchedRepository, number: number, body: string): Promise<void> {
    const { forge, log } = this.#options;
    try {
      const comment = { marker: `autonomous-run-${number}`, body };
      await forge.repository(name, this.#stopping.signal, project.id).putComment(number, comment);
    } catch (error) {
      // The issue is deleted or locked, for example: only another text is tried again.
      if (!(error instanceof ForgeRefusal)) throw error;
      log.warn({ projectId: project.id }, `the comment on issue ${number} is not written: ${error.message}`);
    }
  }

  async #readMark(watched: WatchedRepository): Promise<void> {
    const stored = await this.#options.store.getMark(markOf(watched.project));
    // Without one, all issues with the label are looked at, and those that have a run are recognised.
    if (stored === null) return;
    const parsed = markSchema.parse(JSON.parse(stored));
    watched.stored = stored;
    watched.since = parsed.since;
    for (const { number, runId } of parsed.runs) await this.#follow(watched, number, runId);
  }

  async #storeMark(watched: WatchedRepository): Promise<void> {
    const { since, runs } = watched;
    const mark = JSON.stringify({ since, runs: [...runs.values()].map(({ number, runId }) => ({ number, runId })) });
    if (mark === watched.stored) return;
    watched.stored = mark;
    await this.#options.store.setMark(markOf(watched.project), mark).catch((error: unknown) => {
      watched.stored = null;
      throw error;
    });
  }

  /** The forge takes offence at many requests at once. */
  async #inTurn(look: () => Promise<void>): Promise<void> {
    if (this.#looks >= LOOKS_AT_ONCE) await new Promise<void>((enter) => void this.#turns.push(enter));
    else this.#looks += 1;
    try {
      await look();
    } finally {
      const next = this.#turns.shift();
      if (next === undefined) this.#looks -= 1;
      else next();
    }
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted || ms <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(ms, resolve);
    const stop = (): void => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await promise;
    signal.removeEventListener('abort', stop);
    cancel();
  }
}

/** `null` where the label starts nothing: a person who may not write put it there, or nobody knows who did. */
function keyOfLabelling({ id }: Project, { number, labelledBy, labelledAt }: LabelledIssue): string | null {
  return labelledBy?.mayWrite !== true || labelledAt === null ? null : `issue/${id}/${number}/${labelledAt}`;
}

function markOf({ id }: Project): string {
  return `issues.looked/${id}`;
}

/** ISO 8601 of one form. */
function newest(times: readonly (string | null)[]): string | null {
  return times.reduce((latest, time) => (time !== null && (latest === null || time > latest) ? time : latest), null);
}
