/**
 * Progress of a run below its timeline: one line that is drawn again and again on a terminal, and a line every 30 seconds anywhere
 * else, such as a log.
 */
import type { Progress, Pulses } from '@autonomous/shared';
import { pulseText, withoutPulse, withPulse } from '@autonomous/shared/presentation';
import type { CliIo } from '../io.ts';
import { printable } from './timeline.ts';

const LOGGED_EVERY_MS = 30_000;
/** Where the terminal does not say how wide it is. */
const USUAL_COLUMNS = 80;

export class LiveLine {
  readonly #io: CliIo;
  readonly #log: (pulse: Progress) => void;
  #pulses: Pulses | undefined;
  #isShown = false;
  /** By activity: time of the pulse that was logged last, ms; the first is logged after 30 seconds too. */
  readonly #loggedAt = new Map<string, number>();

  /** @param log tells a pulse as a line of its own */
  constructor(io: CliIo, log: (pulse: Progress) => void) {
    this.#io = io;
    this.#log = log;
  }

  /** Takes in a newer pulse. */
  show(pulse: Progress): void {
    this.#pulses = withPulse(this.#pulses, pulse);
    if (this.#io.stdout.isTTY === true) return this.#draw();
    const at = Date.parse(pulse.at);
    const before = this.#loggedAt.get(pulse.activity) ?? at - (pulse.elapsedMs ?? 0);
    if (at - before < LOGGED_EVERY_MS) return;
    this.#loggedAt.set(pulse.activity, at);
    this.#log(pulse);
  }

  /** An activity has ended. */
  end(activity: string): void {
    this.#loggedAt.delete(activity);
    this.#pulses = withoutPulse(this.#pulses, activity);
    if (this.#pulses === undefined) this.clear();
  }

  /** Nothing is under way any more. */
  endAll(): void {
    this.#pulses = undefined;
    this.#loggedAt.clear();
    this.clear();
  }

  /** Takes the line away, for another one in its place. The next pulse draws it again. */
  clear(): void {
    if (!this.#isShown) return;
    this.#isShown = false;
    this.#io.stdout.write('\r\u001b[2K');
  }

  #draw(): void {
    const texts = Object.values(this.#pulses ?? {}).map((pulse) => pulseText(pulse));
    const { columns = USUAL_COLUMNS } = this.#io.stdout as { readonly columns?: number };
    // A line that is wrapped cannot be taken away as one.
    const line = printable(`  … ${texts.join(' | ')}`)
      .replaceAll('\n', ' ')
      .slice(0, Math.max(20, columns - 1));
    this.#io.stdout.write(`\r\u001b[2K${line}`);
    this.#isShown = true;
  }
}
