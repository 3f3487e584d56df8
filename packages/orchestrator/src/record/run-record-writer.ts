/**
 * Writes the record of open runs to their projects' git, on the branch `autonomous/record`. The record is a projection of
 * the log. It is written in batches after each gate and stage, and continued after a crash.
 */
import {
  type JsonObject,
  NeedsHuman,
  type Project,
  type RecordPlace,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import { RecordRedactor, type RedactorOptions } from '../foreign-text/record-redactor.ts';
import { renderEventLog, withChain } from '../documents/event-log.ts';
import { type RecordedTip, renderRunContext, withBeside } from '../documents/run-context.ts';
import { RECORD_FORMAT, type RecordedProject, type RecordedUpload } from '../documents/record-schemas.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { sha256 } from '../event-store/hash-chain.ts';
import {
  PushForbidden,
  RECORD_BRANCH,
  type RecordKeeper,
  type RemoteProject,
  type Repository,
} from '../repository/repository.ts';
import { markOfRepository } from '../forges/repository-identity.ts';
import { isFinal } from '../core/advance.ts';
import type { Clock } from '../engine/clock.ts';
import type { EngineMessage } from '../engine/step-feed.ts';
import { findFaults, foreignPaths, projectPath, recordFolder, recordKeeper } from './record-check.ts';
import type { RecordComparison } from './record-comparison.ts';
import { sealsOf } from './record-seal.ts';
import { WAITING } from '../engine/run-steps.ts';
import type { Transcripts } from '../engine/transcripts.ts';

export interface RecorderOptions {
  readonly store: EventStore;
  readonly repository: Repository;
  readonly transcripts: Transcripts;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes out values that the server knows; the rules for secrets are applied after it. */
  readonly scrub: (text: string) => string;
  /** Looks for secrets in texts; default is the worker for foreign text. */
  readonly look?: RedactorOptions['look'];
  /** Secrets in the commits of a run that was paused for them. Absent: only the record's own text is searched. */
  readonly committedSecrets?: (
    project: RemoteProject,
    view: RunView,
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** Nothing is written to a project's record before it was compared. Absent: it is written at once. */
  readonly comparison?: Pick<RecordComparison, 'compareAgain' | 'isKnown' | 'wrote'>;
  /** Id of the data folder, which the record names. */
  readonly serverId: string;
  /** True for a project whose record is never pushed. Absent: the record of every project is. */
  readonly isInMirrorOnly?: (project: Project) => boolean;
  /** A commit that leads to the commits and trees that the log of a run names; `null` where the record cannot have them. Absent: none are recorded. */
  readonly objectsOf?: (
    project: RemoteProject,
    view: RunView,
    log: string,
    signal: AbortSignal,
  ) => Promise<string | null>;
  /** Content of a file that a person gave with an answer; `null` where the record cannot have it. Absent: none are recorded. */
  readonly contentOf?: (upload: RunUpload, signal: AbortSignal) => Promise<Uint8Array | null>;
  /** Files that the workflow of a run adds to its record, by name. */
  readonly recordFiles?: (view: RunView, events: readonly WorkflowEvent[]) => Readonly<Record<string, string>>;
}

/** A file that a person gave with an answer. */
export interface RunUpload {
  /** SHA-256 of the content. */
  readonly id: string;
  readonly name: string;
}

/** Steps of several runs that come shortly after each other share one commit. */
const GATHER_MS = 250;
/** The same for a run that waits: who sees it may act on it at once, on a machine that is lost a moment later. */
const GATHER_WAITS_MS = 20;
/** Longest wait for a remote before a run begins to wait. */
const BEFORE_WAIT_MS = 10_000;
const RETRY_MS = 60_000;
/** Longest wait for the remotes of the records when the server stops. */
const STOP_MS = 3_000;
/**
 * Longest search for secrets when the server stops, not counted as a wait for a remote. The
 * next start records the lines that are left.
 */
const STOP_LOOKING_MS = 8_000;
const TICK_MS = 100;
const MARK = 'recorded-position';
/** Variable with the projects for which `isInMirrorOnly` is true. */
const IN_MIRROR_VARIABLE = 'RECORD_IN_MIRROR_ONLY';
/** Events that make a run worth recording: it, a stage or a gate began or ended. */
const MILESTONES: ReadonlySet<string> = new Set([
  'RUN_QUEUED',
  'RUN_STARTED',
  'STAGE_COMPLETED',
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'RUN_PAUSED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_CANCELLED',
]);

/** A run that is to be written before it waits. */
interface Ahead {
  /** Of the input that makes it wait, which is not stored yet. */
  readonly payload: JsonObject;
  /** Called with whether it is where it belongs. */
  readonly resolve: (isWritten: boolean) => void;
}

export class RunRecordWriter {
  readonly #options: RecorderOptions;
  readonly #redactor: RecordRedactor;
  /** Sequence of the last pause, by run, whose secrets are known to the redactor. */
  readonly #askedFor = new Map<string, number>();
  readonly #dirty = new Set<string>();
  /** Runs of which no record is where it belongs yet. */
  readonly #unrecorded = new Set<string>();
  /** `<run>/<upload>` of files that are in the record since the start. */
  readonly #recordedUploads = new Set<string>();
  #position = 0;
  #cancelTimer: (() => void) | null = null;
  /** Time of the clock at which the timer ends, ms. */
  #wakesAt = 0;
  /** By run. */
  readonly #ahead = new Map<string, readonly Ahead[]>();
  /** By project. */
  readonly #writing = new Map<string, Promise<void>>();
  /** Projects whose record could not be written, until it is tried again. */
  readonly #resting = new Map<string, () => void>();
  /** Why the last attempt failed, by project; empty where the record is written. */
  readonly #refused = new Map<string, { readonly why: string; readonly isForbidden: boolean }>();
  /** Projects with a run that began to wait before its record was on the remote. */
  readonly #behind = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #stopLooking = new AbortController();
  /** Records that are being searched for secrets. */
  #looking = 0;
  /** False until the changed runs are known. Moving the mark before that would hide them for good. */
  #started = false;
  /** The log could not be read at the start. */
  #mustStart = false;
  #stopped = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { scrub, look } = options;
    this.#redactor = new RecordRedactor({ scrub, ...(look ? { look } : {}) });
  }

  /**
   * Finds the runs whose latest events are not in git yet, and records them. Nothing is written before. A log that cannot be
   * read now is tried again: runs go on without their record.
   */
  async start(): Promise<void> {
    try {
      await this.#findDirty();
      this.#started = true;
    } catch (error) {
      this.#warn(error);
    }
    this.#mustStart = !this.#started;
    if (this.#mustStart) this.#wake(RETRY_MS);
    else if (this.#dirty.size > 0) this.#wake(0);
  }

  async #findDirty(): Promise<void> {
    const { store } = this.#options;
    for (let after = Number((await store.getMark(MARK)) ?? 0); ;) {
      const events = await store.readAll(after);
      const last = events.at(-1);
      if (!last) return;
      // It is not known here which of them led to a wait.
      for (const event of events) this.#note(event, true);
      after = last.position;
    }
  }

  /** Must be called with every message that the engine publishes. */
  receive(message: EngineMessage): void {
    if (!('events' in message)) return;
    const { status } = message.view;
    const isWaiting = WAITING.has(status);
    // The costs of a run's last calls may arrive after the run has ended.
    const isEnded = isFinal(status);
    for (const event of message.events) this.#note(event, isWaiting || isEnded);
    if (isWaiting) this.#wake(GATHER_WAITS_MS);
    else if (isEnded || message.events.some((event) => MILESTONES.has(event.type))) this.#wake(GATHER_MS);
  }

  /**
   * Writes what a run has up to now, before it begins to wait: its commits, plan and answer files are then reachable from the
   * record. Ends after ten seconds at the latest, and at once where the remote did not answer less than a minute ago; `noticesOf`
   * tells that the record lags behind then.
   * @param payload of the input that makes it wait: it names commits and files that no event does yet
   */
  async beforeWait(runId: string, payload: JsonObject): Promise<void> {
    const { store, clock, isInMirrorOnly } = this.#options;
    const view = await store.loadView(runId);
    const project = view === null ? null : await store.getProject(view.projectId);
    if (project === null || this.#stopped || isInMirrorOnly?.(project) === true) return;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const ahead: Ahead = { payload, resolve };
    this.#ahead.set(runId, [...(this.#ahead.get(runId) ?? []), ahead]);
    this.#dirty.add(runId);
    const cancel = clock.after(BEFORE_WAIT_MS, () => resolve(false));
    if (this.#resting.has(project.id)) resolve(false);
    else this.#wake(0);
    if (!(await promise) && !this.#stopped) this.#behind.add(project.id);
    cancel();
    const left = (this.#ahead.get(runId) ?? []).filter((each) => each !== ahead);
    if (left.length === 0) this.#ahead.delete(runId);
    else this.#ahead.set(runId, left);
  }

  /**
   * Tries soon what could not be written before.
   * @param behind runs to be recorded again. Default: none
   */
  tryAgain(behind: readonly string[] = []): void {
    for (const runId of behind) this.#dirty.add(runId);
    if (this.#dirty.size === 0) return;
    this.#restNoMore();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#wake(0);
  }

  /** Writes what is left and stops. A remote that does not answer is not waited for: the mirrors have the record then. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#letGo([...this.#ahead.keys()]);
    let waitedMs = 0;
    const limit = setInterval(() => {
      if (this.#looking === 0) waitedMs += TICK_MS;
      if (waitedMs >= STOP_MS) this.#stopping.abort(new Error('the server stops'));
    }, TICK_MS);
    const stopLooking = setTimeout(() => this.#stopLooking.abort(), STOP_LOOKING_MS);
    try {
      await this.#writeAll();
    } finally {
      clearInterval(limit);
      clearTimeout(stopLooking);
    }
  }

  /** Resolves when everything up to now is recorded or has failed to be. */
  async settled(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#restNoMore();
    await Promise.all(this.#writing.values());
    await this.#write('all');
    await Promise.all(this.#writing.values());
  }

  #note(event: WorkflowEvent, isWorthIt: boolean): void {
    this.#position = Math.max(this.#position, event.position);
    if (event.sequence === 1) this.#unrecorded.add(event.workflowRunId);
    if (isWorthIt || MILESTONES.has(event.type)) this.#dirty.add(event.workflowRunId);
  }

  #wake(ms: number): void {
    const wakesAt = this.#options.clock.now().getTime() + ms;
    if (this.#stopped || (this.#cancelTimer && this.#wakesAt <= wakesAt)) return;
    this.#cancelTimer?.();
    this.#wakesAt = wakesAt;
    this.#cancelTimer = this.#options.clock.after(ms, () => {
      this.#cancelTimer = null;
      void this.#write('due');
    });
  }

  /**
   * Begins to write the runs that have changed, each project by itself: a remote that
   * does not answer holds up no other project.
   * @param which `due` leaves out projects that failed less than a minute ago
   */
  async #write(which: 'due' | 'all'): Promise<void> {
    if (this.#mustStart && !this.#stopped) await this.start();
    const runIds = [...this.#dirty];
    if (!this.#started || runIds.length === 0) return;
    // Runs that change from here on are written later.
    this.#dirty.clear();
    try {
      const views = await Promise.all(runIds.map((runId) => this.#options.store.loadView(runId)));
      for (const [projectId, runs] of byProject(views)) {
        const isResting = which === 'due' && this.#resting.has(projectId);
        const isLater = this.#writing.has(projectId) || isResting;
        if (isLater) for (const { id } of runs) this.#dirty.add(id);
        else this.#begin(projectId, runs);
        if (isResting) this.#letGo(runs.map(({ id }) => id));
      }
    } catch (error) {
      this.#warn(error);
      for (const runId of runIds) this.#dirty.add(runId);
      this.#letGo(runIds);
      this.#wake(RETRY_MS);
    }
  }

  /** Runs that wait for their record wait no longer. */
  #letGo(runIds: readonly string[]): void {
    for (const runId of runIds) for (const { resolve } of this.#ahead.get(runId) ?? []) resolve(false);
  }

  #begin(projectId: string, runs: readonly RunView[]): void {
    // Those that come from here on are written later.
    const ahead = new Map(runs.map(({ id }) => [id, this.#ahead.get(id) ?? []]));
    const write = async (): Promise<void> => {
      const isWritten = await this.#record(projectId, runs, ahead).then(
        (done) => {
          if (done) this.#refused.delete(projectId);
          return done;
        },
        (error: unknown) => this.#refuse(projectId, error),
      );
      this.#writing.delete(projectId);
      if (isWritten) this.#behind.delete(projectId);
      if (isWritten) for (const { id } of runs) this.#unrecorded.delete(id);
      for (const { resolve } of [...ahead.values()].flat()) resolve(isWritten);
      if (!isWritten) this.#rest(projectId, runs);
      // Runs that changed meanwhile were waiting for their project.
      else if (this.#dirty.size > 0) this.#wake(this.#ahead.size > 0 ? 0 : GATHER_MS);
      if (this.#dirty.size > 0 || this.#writing.size > 0) return;
      await this.#options.store.setMark(MARK, String(this.#position)).catch((error: unknown) => this.#warn(error));
    };
    this.#writing.set(projectId, write());
  }

  #rest(projectId: string, runs: readonly RunView[]): void {
    for (const { id } of runs) this.#dirty.add(id);
    if (this.#stopped || this.#resting.has(projectId)) return;
    const cancel = this.#options.clock.after(RETRY_MS, () => {
      this.#resting.delete(projectId);
      void this.#write('due');
    });
    this.#resting.set(projectId, cancel);
  }

  #restNoMore(): void {
    for (const cancel of this.#resting.values()) cancel();
    this.#resting.clear();
  }

  /** Where a run's record is. A start counts its newest runs as `pending` until it has written them again. */
  async placeOf({ id, projectId }: Pick<RunView, 'id' | 'projectId'>): Promise<RecordPlace> {
    const { store, isInMirrorOnly } = this.#options;
    const project = projectId === '' ? null : await store.getProject(projectId);
    if (project === null || isInMirrorOnly?.(project) === true) return 'server';
    return this.#started && !this.#unrecorded.has(id) ? 'remote' : 'pending';
  }

  /** Why the records of a project are not on its remote: one sentence or none. Its runs go on. */
  noticesOf(projectId: string): readonly string[] {
    const refused = this.#refused.get(projectId);
    if (refused === undefined)
      return this.#behind.has(projectId)
        ? [
            `The record of its runs on the remote lags behind: it could not be written in time. Runs go on, and the rest is pushed to ${RECORD_BRANCH} as soon as the remote takes it; until then only this server has it.`,
          ]
        : [];
    const why = withoutRetry(refused.why);
    if (!refused.isForbidden)
      return [
        `The record of its runs is not on the remote: ${why}. Runs go on, and their record is written again every minute; until then only this server has it.`,
      ];
    return [
      `The record of its runs is not on the remote (${why}); runs go on, and until the remote takes it the record is kept in the mirror of this server. If it is to stay there, list the project in ${IN_MIRROR_VARIABLE} of the server's environment: lost runs can then not be found from the remote.`,
    ];
  }

  /** Said once for each reason, however often it is tried. */
  #refuse(projectId: string, error: unknown): false {
    const why = error instanceof Error ? error.message : String(error);
    if (this.#refused.get(projectId)?.why === why) return false;
    this.#refused.set(projectId, { why, isForbidden: error instanceof PushForbidden });
    this.#options.log.warn(
      { err: error, projectId },
      'the record could not be written to git; it is tried again every minute, and told again when the reason changes',
    );
    return false;
  }

  #warn(error: unknown): false {
    this.#options.log.warn({ err: error }, 'the record could not be written to git; it is tried again');
    return false;
  }

  /** @returns whether the remote has it now */
  async #record(
    projectId: string,
    runs: readonly RunView[],
    ahead: ReadonlyMap<string, readonly Ahead[]>,
  ): Promise<boolean> {
    const { store, repository, log, comparison, serverId, isInMirrorOnly } = this.#options;
    const project = await store.getProject(projectId);
    if (!project) return true;
    this.#redactor.warm();
    // Said, and tried again, by the comparison itself.
    if (comparison && !(await comparison.isKnown(project, this.#stopping.signal))) return false;
    const forgeId = (await store.getMark(markOfRepository(project.id))) ?? undefined;
    const files: Record<string, string | Uint8Array> = { [projectPath(project.id)]: renderProject(project, forgeId) };
    const commits: string[] = [];
    const uploaded: string[] = [];
    const faults = await findFaults(
      store,
      repository,
      project,
      runs.map(({ id }) => id),
    );
    let isComplete = true;
    let isAny = false;
    for (const view of runs) {
      const tip = await store.tipOf(view.id);
      if (!tip) continue;
      // Git may hold the last copy of a run, so only a continuation of its record replaces it.
      const fault = faults.get(view.id) ?? (await store.verifyRun(view.id));
      if (fault) {
        log.warn({ runId: view.id }, `the record of a run stays as it is in git: ${fault.message}`);
        continue;
      }
      const context = this.#contextOf(view);
      if (context === null) continue;
      const events = await store.readRun(view.id, 0, tip.sequence);
      const at = events.at(-1)?.timestamp ?? view.updatedAt;
      this.#looking += 1;
      const coming = (ahead.get(view.id) ?? []).map(({ payload }) => payload);
      const written = await this.#withoutSecrets(project, view, context, events, coming, {
        ...tip,
        at,
        server: serverId,
      }).finally(() => (this.#looking -= 1));
      isAny = true;
      for (const [name, content] of Object.entries(written.files)) files[`${recordFolder(view.id)}/${name}`] = content;
      commits.push(...written.commits);
      uploaded.push(...written.uploaded);
      if (!written.isComplete) {
        isComplete = false;
        log.warn(
          { runId: view.id },
          'lines of a record were not looked through for secrets in time; they follow later',
        );
      }
    }
    if (!isAny) return true;
    const message = `Record of ${runs.map((run) => run.id).join(', ')}`;
    const keeper = recordKeeper(store, repository, project);
    let hasKept = false;
    const foreign = foreignPaths.bind(null, repository, project);
    const keep: RecordKeeper = async (...question) => {
      const kept = await keeper(...question);
      // The file of the project is no run's, and the comparison knows of it.
      hasKept ||= [...kept].some((path) => path !== projectPath(project.id));
      return kept;
    };
    const to = isInMirrorOnly?.(project) === true ? 'mirror' : 'remote';
    const { commit, pushed, why } = await repository.record(
      project,
      { files, commits, message },
      { keep, foreign, signal: this.#stopping.signal, to },
    );
    for (const name of uploaded) this.#recordedUploads.add(name);
    const isWhereItBelongs = pushed || to === 'mirror';
    if (isWhereItBelongs && hasKept) comparison?.compareAgain(project);
    else if (isWhereItBelongs) await comparison?.wrote(projectId, commit);
    else if (why === undefined)
      log.warn({ projectId }, 'the record is written to the mirror but could not be pushed; it is tried again');
    else this.#refuse(projectId, new NeedsHuman('remote_unavailable', why));
    if (!isWhereItBelongs || !isComplete) return false;
    for (const { id, status } of runs) if (isFinal(status)) this.#forget(id);
    return true;
  }

  /** Files of the run's workflow. One whose function fails is left out: the log is the record. */
  #recordFiles(view: RunView, events: readonly WorkflowEvent[]): Readonly<Record<string, string>> {
    try {
      return this.#options.recordFiles?.(view, events) ?? {};
    } catch (error) {
      this.#options.log.error({ err: error, runId: view.id }, "the files of a workflow's record could not be made");
      return {};
    }
  }

  /** `null` for a run that cannot be written, as others may have recorded it: it keeps no other run from being written. */
  #contextOf(view: RunView): string | null {
    try {
      return renderRunContext(view);
    } catch (error) {
      this.#options.log.error({ err: error, runId: view.id }, 'the record of a run could not be made');
      return null;
    }
  }

  async #withoutSecrets(
    project: RemoteProject,
    view: RunView,
    context: string,
    events: readonly WorkflowEvent[],
    coming: readonly JsonObject[],
    tip: Omit<RecordedTip, 'log' | 'seal' | 'logSeal'>,
  ): Promise<WrittenRun> {
    const { signal } = this.#stopLooking;
    const rendered = renderEventLog(events);
    const { files, isComplete } = await this.#redactor.redact(
      view.id,
      {
        'context.json': context,
        'events.jsonl': rendered,
        'transcript.jsonl': await this.#options.transcripts.text(view.id),
        ...this.#recordFiles(view, events),
      },
      await this.#secretsOf(project, view, events),
      signal,
    );
    const steps = await this.#options.store.readSteps(view.id);
    const log = withChain(rendered, files['events.jsonl'], steps);
    const objects = await this.#objectsOf(project, view, `${rendered}${JSON.stringify(coming)}`);
    const commits = objects === null ? [] : [objects];
    const { uploads, contents, uploaded } = await this.#uploadsOf(view.id, [...inputPayloads(events), ...coming]);
    const whole = { ...tip, log: sha256(log) };
    const seals = await sealsOf(this.#options.store, project.id, view.id, whole);
    const beside = { tip: { ...whole, ...seals }, commits, uploads };
    return {
      files: { ...files, ...contents, 'events.jsonl': log, 'context.json': withBeside(files['context.json'], beside) },
      commits,
      uploaded,
      isComplete,
    };
  }

  /** A run whose objects cannot be read is recorded without them: its log is worth more. */
  async #objectsOf(project: RemoteProject, view: RunView, log: string): Promise<string | null> {
    const { objectsOf, log: logger } = this.#options;
    try {
      return (await objectsOf?.(project, view, log, this.#stopLooking.signal)) ?? null;
    } catch (error) {
      logger.warn({ err: error, runId: view.id }, 'the commits of a run could not be added to its record');
      return null;
    }
  }

  async #uploadsOf(
    runId: string,
    payloads: readonly JsonObject[],
  ): Promise<{
    readonly uploads: readonly RecordedUpload[];
    readonly contents: Readonly<Record<string, Uint8Array>>;
    readonly uploaded: readonly string[];
  }> {
    const { contentOf } = this.#options;
    const uploads: RecordedUpload[] = [];
    const contents: Record<string, Uint8Array> = {};
    const uploaded: string[] = [];
    for (const { id, name } of contentOf === undefined ? [] : uploadsIn(payloads)) {
      const recorded = `${runId}/${id}`;
      const isThere = this.#recordedUploads.has(recorded);
      const content = isThere ? null : await contentOf?.({ id, name }, this.#stopLooking.signal);
      if (content) contents[`files/${id}`] = content;
      if (content) uploaded.push(recorded);
      uploads.push({ id, name, ...(isThere || content ? {} : { isLeftOut: true as const }) });
    }
    return { uploads, contents, uploaded };
  }

  /**
   * Secrets in the commits that the gate `secret_found` holds back. The record may
   * contain them in a form that no rule recognises.
   */
  async #secretsOf(
    project: RemoteProject,
    view: RunView,
    events: readonly WorkflowEvent[],
  ): Promise<readonly string[]> {
    const { committedSecrets, log } = this.#options;
    const pause = events.findLast(({ type, payload }) => type === 'RUN_PAUSED' && payload['reason'] === 'secret_found');
    if (!committedSecrets || !pause || this.#askedFor.get(view.id) === pause.sequence) return [];
    try {
      const values = await committedSecrets(project, view, this.#stopLooking.signal);
      this.#askedFor.set(view.id, pause.sequence);
      return values;
    } catch (error) {
      if (!this.#stopLooking.signal.aborted)
        log.warn(
          { err: error, runId: view.id },
          'the commits of a run could not be searched for what its record must not say',
        );
      return [];
    }
  }

  #forget(runId: string): void {
    this.#redactor.forget(runId);
    this.#askedFor.delete(runId);
  }
}

/** A run's part of a commit of the record. */
interface WrittenRun {
  /** By name. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  readonly commits: readonly string[];
  readonly uploaded: readonly string[];
  readonly isComplete: boolean;
}

/** A notice has nothing to retry, unlike a pause: the record is written again by itself. */
function withoutRetry(why: string): string {
  return why
    .trim()
    .replace(/; is the network up\? Retry when it answers$|(?:, then|[;:]) retry(?: when it answers)?(?=\.|$)/g, '');
}

function inputPayloads(events: readonly WorkflowEvent[]): readonly JsonObject[] {
  return events.flatMap(({ origin, payload }) => (origin === 'input' ? [payload] : []));
}

/** Files that people gave with answers, each once. */
function uploadsIn(payloads: readonly JsonObject[]): readonly RunUpload[] {
  const uploads = new Map<string, RunUpload>();
  for (const { uploads: given } of payloads) {
    if (!Array.isArray(given)) continue;
    for (const each of given as readonly Partial<RunUpload>[]) {
      const { id, name } = each;
      if (typeof id === 'string' && typeof name === 'string' && /^[0-9a-f]{64}$/.test(id))
        uploads.set(id, { id, name });
    }
  }
  return [...uploads.values()];
}

function renderProject({ id, name, repository, baseBranch, createdAt }: Project, forgeId: string | undefined): string {
  const recorded: RecordedProject = { format: RECORD_FORMAT, id, name, repository, baseBranch, createdAt, forgeId };
  return `${JSON.stringify(recorded, null, 2)}\n`;
}

function byProject(views: readonly (RunView | null)[]): Map<string, RunView[]> {
  const projects = new Map<string, RunView[]>();
  for (const view of views) {
    if (view) projects.set(view.projectId, [...(projects.get(view.projectId) ?? []), view]);
  }
  return projects;
}
