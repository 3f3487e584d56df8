/** The command or step that an activity is at, made from what it reports: the source of live progress and of the words of a timeout. */
import { type AtWork, type Progress, titleOfName } from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';

/** Characters of a line or of a command that are kept. */
const LONGEST_LINE = 200;

export class ActivityPulse {
  readonly #activity: string;
  /** Present command or step; `undefined` until it tells more than its name. */
  #what: string | undefined;
  #sinceMs: number;
  /** Of the running command: the line that is still being written. */
  #open = '';
  #lastLine: string | undefined;
  #bytes: number | undefined;
  #files: number | undefined;
  /** Present step. A report of the same step keeps its start time. */
  #step: string | undefined;

  /** @param nowMs time of the clock, here and below */
  constructor(activity: string, nowMs: number) {
    this.#activity = activity;
    this.#sinceMs = nowMs;
  }

  /** Takes in what the activity reports. */
  note(progress: Pick<Progress, 'kind' | 'text' | 'bytes' | 'files'>, nowMs: number): void {
    const { kind, text, bytes, files } = progress;
    if (kind === 'pulse') {
      if (text !== '' && text !== this.#step) this.#begin(text, nowMs);
      this.#step = text === '' ? this.#step : text;
      this.#bytes = bytes ?? this.#bytes;
      this.#files = files ?? this.#files;
    } else if (kind === 'output') this.#take(text);
    else if (kind === 'command' || kind === 'tool_call') this.#begin(text.replace(/^\$ /, ''), nowMs);
    else if (kind === 'prompt' || kind === 'tool_result') this.#begin('waiting for the model', nowMs);
  }

  at(nowMs: number): AtWork {
    return {
      activity: this.#activity,
      what: this.#what ?? titleOfName(this.#activity),
      elapsedMs: Math.max(0, Math.round(nowMs - this.#sinceMs)),
      ...(this.#lastLine === undefined ? {} : { lastLine: this.#lastLine }),
      ...(this.#bytes === undefined ? {} : { bytes: this.#bytes }),
      ...(this.#files === undefined ? {} : { files: this.#files }),
    };
  }

  #begin(what: string, nowMs: number): void {
    this.#what = printable(what);
    this.#sinceMs = nowMs;
    this.#open = '';
    this.#step = undefined;
    this.#lastLine = this.#bytes = this.#files = undefined;
  }

  #take(chunk: string): void {
    // A command that rewrites one line ends each state of it with a carriage return.
    const lines = `${this.#open}${chunk}`.slice(-20 * LONGEST_LINE).split(/[\r\n]/);
    this.#open = (lines.at(-1) ?? '').slice(-10 * LONGEST_LINE);
    const last = lines.findLast((line) => printable(line) !== '');
    if (last !== undefined) this.#lastLine = printable(last);
  }
}

/** One line without control characters, cut to {@link LONGEST_LINE}. */
function printable(text: string): string {
  const line = withoutTerminal(text.slice(0, 4 * LONGEST_LINE))
    .replace(/\p{C}+/gu, ' ')
    .trim();
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
