/** Sites that asked for a pause (429 or 503 with Retry-After), and until when. Nothing is asked of them before. */
export class HostPauses {
  /** End of the pause by origin, milliseconds since the epoch. */
  readonly #until = new Map<string, number>();

  /** @returns the rest of the pause in milliseconds; 0 when there is none */
  remainingMs(origin: string, now: number): number {
    const remaining = (this.#until.get(origin) ?? 0) - now;
    if (remaining <= 0) this.#until.delete(origin);
    return Math.max(0, remaining);
  }

  /** Pauses are at most an hour long. */
  pause(origin: string, ms: number, now: number): void {
    if (this.#until.size >= MAX_PAUSES) this.#until.clear();
    this.#until.set(origin, now + Math.min(ms, LONGEST_PAUSE_MS));
  }
}

const LONGEST_PAUSE_MS = 60 * 60_000;
const MAX_PAUSES = 1_000;

/** Milliseconds that a Retry-After header asks for, as seconds or as a date; `null` where it does not say. */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header.slice(0, 100));
  return Number.isFinite(date) ? Math.max(0, date - now) : null;
}
