/** Keeps what a person who follows the run sees: gates, pauses, notices, times. */
import type { EventPayloads, Progress, WorkflowEvent } from '@autonomous/shared';

export interface Seen {
  /** One line each, in order: gates, pauses, notices, failed validations. */
  readonly lines: readonly string[];
  /** Longest time without any event or progress while the run worked, in seconds, and what was told last before it. */
  readonly longestSilenceS: number;
  readonly silentAfter: string;
}

/** Events whose text stands in the report. */
const SHOWN: ReadonlySet<string> = new Set([
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'RUN_PAUSED',
  'BASELINE_RECORDED',
  'RUN_FAILED',
  'NOTICE',
  'VALIDATION_FAILED',
  'IMPLEMENTATION_FAILED',
]);
/** Events after which the run waits for a person. */
const WAITS: ReadonlySet<string> = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED', 'RUN_PAUSED']);
const LINE_LENGTH = 300;

/** Progress after which the command before it is over; its output and notes about it come in between. */
const ENDS_COMMAND: ReadonlySet<Progress['kind']> = new Set(['command', 'prompt', 'tool_call', 'text']);

interface Command {
  readonly text: string;
  readonly activity: string;
  readonly at: number;
  until: number;
  isOver: boolean;
}

export class Spectator {
  /** True once an agent's model was asked: from then on the run costs. */
  calledModel = false;
  /** True once a new process of an external agent took its session up. */
  hasResumed = false;
  lastSequence = 0;
  readonly #lines: string[] = [];
  readonly #commands: Command[] = [];
  #last = { at: Date.now(), text: 'the launch', isWaiting: false };
  #silence = { ms: 0, after: '' };

  event(event: WorkflowEvent, text: string | null): void {
    this.lastSequence = event.sequence;
    if (event.type === 'CALL_BOOKED' || event.type === 'COST_RECORDED') this.calledModel = true;
    if (event.type === 'RUN_CONFIGURED') {
      const { notices } = event.payload as unknown as EventPayloads['RUN_CONFIGURED'];
      this.#lines.push(...notices.map(oneLine));
    }
    if (SHOWN.has(event.type) && text !== null) this.#lines.push(oneLine(text));
    this.#moved(Date.parse(event.timestamp), text ?? event.type, WAITS.has(event.type));
  }

  progress({ kind, text, activity, at }: Progress): void {
    const now = Date.parse(at);
    if (kind === 'prompt') this.calledModel = true;
    if (kind === 'note' && text.includes('resumes its session')) {
      this.hasResumed = true;
      this.#lines.push(oneLine(text));
    }
    const open = this.#commands.findLast((command) => command.activity === activity && !command.isOver);
    if (open !== undefined) {
      open.until = now;
      open.isOver = ENDS_COMMAND.has(kind);
    }
    if (kind === 'command') this.#commands.push({ text, activity, at: now, until: now, isOver: false });
    this.#moved(now, text, this.#last.isWaiting && kind === 'note');
  }

  /**
   * Seconds of the install step, until its activity went on with something else; `null` if it did not run.
   * @param test the check command; the install step is the first other one
   */
  setupS(test: string): number | null {
    const step = this.#commands.find(({ text }) => !text.endsWith(test));
    if (step === undefined) return null;
    return Math.round((step.until - step.at) / 100) / 10;
  }

  seen(): Seen {
    return {
      lines: this.#lines,
      longestSilenceS: Math.round(this.#silence.ms / 1_000),
      silentAfter: oneLine(this.#silence.after),
    };
  }

  #moved(at: number, text: string, isWaiting: boolean): void {
    const ms = at - this.#last.at;
    if (!this.#last.isWaiting && ms > this.#silence.ms) this.#silence = { ms, after: this.#last.text };
    this.#last = { at, text, isWaiting };
  }
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line;
}
