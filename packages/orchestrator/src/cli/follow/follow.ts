/** Follows a run: its history, then what happens, until it ends or a person has to act. */
import {
  FINAL_STATUSES,
  foldRun,
  type Gate,
  type Progress,
  type RunView,
  type WorkflowEvent,
  type WorkflowInfo,
} from '@autonomous/shared';
import { pulseText } from '@autonomous/shared/presentation';
import type { Client } from '@autonomous/shared/client';
import { describeEvent, describeProgress, type TimelineEntry } from './timeline.ts';
import { LiveLine } from './live-line.ts';
import { type CliIo, note, sayEntry, sayJson } from '../io.ts';
import { workflowOfRun } from '../run-workflow.ts';

export interface FollowOptions {
  readonly client: Client;
  readonly io: CliIo;
  readonly runId: string;
  /** Events as JSON lines instead of the timeline. */
  readonly json: boolean;
  /** Events up to this sequence are not told again; 0 when absent. */
  readonly after?: number;
  /** Reaction to an open gate: `end` stops following, `wait` leaves it to others, a function asks a person. */
  readonly atGate: 'end' | 'wait' | AskPerson;
  /** Stops following when nothing but child runs of the run is under way. Default: false. */
  readonly endsAtChildren?: boolean;
}

/**
 * @param signal aborts when somebody else decided
 * @returns false when the person wants to follow no longer
 */
export type AskPerson = (gate: Gate, signal: AbortSignal) => Promise<boolean>;

export interface Followed {
  readonly run: RunView;
  /** The workflow of the run; `undefined` where the server has it no more. */
  readonly workflow: WorkflowInfo | undefined;
  /** Position in the feed of the last event that was told. */
  readonly position: number;
  /** Ended by Ctrl+C; the run goes on. */
  readonly interrupted: boolean;
}

/** @throws {ApiError} when there is no such run, or the server refuses */
export async function followRun(options: FollowOptions): Promise<Followed> {
  const follower = new Follower(options);
  const onInterrupt = () => follower.interrupt();
  process.once('SIGINT', onInterrupt);
  try {
    return await follower.follow();
  } finally {
    process.removeListener('SIGINT', onInterrupt);
  }
}

const PAGE = 1_000;

class Follower {
  readonly #options: FollowOptions;
  readonly #stop = new AbortController();
  #run: RunView | null = null;
  #workflow: WorkflowInfo | undefined;
  #position = 0;
  #isLive = false;
  #isInterrupted = false;
  #isOffline = false;
  #asked: { readonly gateId: string; readonly withdraw: AbortController } | null = null;
  #failure: { readonly error: unknown } | null = null;
  readonly #live: LiveLine;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#live = new LiveLine(options.io, (pulse) =>
      this.#tellEntry({ text: pulseText(pulse), tone: 'quiet' }, pulse.at),
    );
  }

  interrupt(): void {
    this.#isInterrupted = true;
    this.#stop.abort();
  }

  async follow(): Promise<Followed> {
    const { client, runId } = this.#options;
    this.#workflow = await workflowOfRun(client, await client.getRun(runId));
    await this.#catchUp();
    this.#decideWhatNext();
    if (!this.#stop.signal.aborted) {
      await client.followFeed({
        after: this.#position,
        runIds: [runId],
        signal: this.#stop.signal,
        onEvent: (event) => this.#take(event),
        onProgress: (progress) => this.#tellProgress(progress),
        onStatus: (status) => {
          if (status.state === 'replaying' && status.reset) this.#startAfresh();
          if (status.state === 'offline') this.#tellOffline(status.reason);
          this.#isLive = status.state === 'live' || status.state === 'polling';
          if (!this.#isLive) return;
          this.#tellOnline();
          this.#decideWhatNext();
        },
      });
    }
    this.#live.endAll();
    this.#asked?.withdraw.abort();
    if (this.#failure) throw this.#failure.error;
    // A step stores several events; what ended the following need not be the last of them.
    if (!this.#isInterrupted) await this.#catchUp();
    if (this.#run === null) throw new Error(`run ${runId} has no events`);
    return {
      run: this.#run,
      workflow: this.#workflow,
      position: this.#position,
      interrupted: this.#isInterrupted,
    };
  }

  async #catchUp(): Promise<void> {
    const { client, runId } = this.#options;
    for (;;) {
      const events = await client.listEvents(runId, this.#run?.lastSequence ?? 0, PAGE);
      for (const event of events) this.#take(event);
      if (events.length < PAGE) return;
    }
  }

  #take(event: WorkflowEvent): void {
    if (this.#run !== null && event.sequence <= this.#run.lastSequence) return;
    const before = this.#run;
    this.#run = foldRun(before, event);
    this.#position = Math.max(this.#position, event.position);
    this.#withdrawDecided();
    if (this.#run?.status !== 'running') this.#live.endAll();
    else if (event.type === 'ACTIVITY_COMPLETED' || event.type === 'ACTIVITY_FAILED')
      this.#live.end(String(event.payload['activity']));
    if (event.sequence > (this.#options.after ?? 0)) this.#tell(event, before);
    if (this.#isLive) this.#decideWhatNext();
  }

  #tell(event: WorkflowEvent, before: RunView | null): void {
    const { io, json } = this.#options;
    if (json) return sayJson(io, event);
    const entry = describeEvent(event, before, this.#workflow);
    if (entry) this.#tellEntry(entry, event.timestamp);
  }

  #tellProgress(progress: Progress): void {
    if (this.#options.json) return;
    if (progress.kind === 'pulse') {
      // Nothing is drawn over what a person types at a gate.
      if (this.#run?.status === 'running') this.#live.show(progress);
      return;
    }
    const text = describeProgress(progress);
    if (text !== null) this.#tellEntry({ text, tone: 'quiet' }, progress.at);
  }

  #tellEntry(entry: TimelineEntry, at: string): void {
    this.#live.clear();
    sayEntry(this.#options.io, { ...entry, atMs: this.#sinceStart(at) });
  }

  #sinceStart(timestamp: string): number {
    return Date.parse(timestamp) - Date.parse(this.#run?.createdAt ?? timestamp);
  }

  /** Called when all events so far have arrived: not during the replay of a history. */
  #decideWhatNext(): void {
    const run = this.#run;
    if (run === null) return;
    const { atGate, endsAtChildren = false } = this.#options;
    if (FINAL_STATUSES.has(run.status)) return this.#stop.abort();
    if (endsAtChildren && run.status === 'awaiting_children') return this.#stop.abort();
    if (run.gate === null || atGate === 'wait') return;
    if (atGate === 'end') return this.#stop.abort();
    if (this.#asked === null && this.#isLive) this.#ask(run.gate, atGate);
  }

  /** Nobody is asked any longer about a gate that is decided. */
  #withdrawDecided(): void {
    if (this.#asked === null || this.#asked.gateId === this.#run?.gate?.id) return;
    this.#asked.withdraw.abort();
    this.#asked = null;
  }

  #ask(gate: Gate, ask: AskPerson): void {
    const asked = { gateId: gate.id, withdraw: new AbortController() };
    this.#asked = asked;
    ask(gate, asked.withdraw.signal)
      .then((goesOn) => {
        if (!goesOn) this.interrupt();
      })
      .catch((error: unknown) => {
        this.#failure = { error };
        this.#stop.abort();
      });
  }

  /** The server's log is another one than before: a copy was restored. */
  #startAfresh(): void {
    if (this.#run !== null) note(this.#options.io, "The server's log was replaced; here it is from the beginning.");
    this.#run = null;
    this.#position = 0;
  }

  #tellOffline(reason: string): void {
    if (!this.#isOffline) note(this.#options.io, `The connection to the server is lost (${reason}); trying again.`);
    this.#isOffline = true;
  }

  #tellOnline(): void {
    if (this.#isOffline) note(this.#options.io, 'The server is back.');
    this.#isOffline = false;
  }
}
