/**
 * Transcripts: progress of agents and checks, one file of JSON lines per run, in the data folder. They are not part of
 * the log.
 */
import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Progress, TranscriptEntry } from '@autonomous/shared';

/** Lines that were not yet written are gathered for this long. */
const FLUSH_AFTER_MS = 200;
/** Of one run: it is read whole, and written to the record whole. */
const MOST_BYTES = 32 * 2 ** 20;

export class Transcripts {
  readonly #folder: string;
  readonly #pending = new Map<string, string[]>();
  /** How long the file of a run is, of those that got lines since the start. */
  readonly #bytes = new Map<string, number>();
  #flushing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;

  /** @param folder absolute; made when it does not exist */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Adds a line; it is on disk soon after. */
  add({ runId, ...entry }: Progress): void {
    // It says what is so at this moment, and the lines say it too.
    if (entry.kind === 'pulse') return;
    const lines = this.#pending.get(runId) ?? [];
    lines.push(JSON.stringify(entry));
    this.#pending.set(runId, lines);
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS);
  }

  /** All lines of a run, oldest first; a line that was cut by a crash is left out. */
  async read(runId: string): Promise<readonly TranscriptEntry[]> {
    const text = await this.text(runId);
    return text.split('\n').flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line) as TranscriptEntry];
      } catch {
        return [];
      }
    });
  }

  /** The lines of a run whose data has a key, oldest first. */
  async marked(runId: string, key: string): Promise<readonly TranscriptEntry[]> {
    const text = await this.text(runId);
    // Most transcripts have none, and are not parsed for that.
    if (!text.includes(`"${key}":`)) return [];
    return (await this.read(runId)).filter(({ data }) => data !== undefined && Object.hasOwn(data, key));
  }

  /** The file as it is; empty when there is none. */
  async text(runId: string): Promise<string> {
    await this.flush();
    return readFile(this.#file(runId), 'utf8').catch(() => '');
  }

  /** Stores the transcript of a run that comes from its record; one that there is stays. */
  async restore(runId: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await writeFile(this.#file(runId), text, { flag: 'wx' }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  }

  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = [...this.#pending];
    this.#pending.clear();
    // A full disk loses lines of the transcript, never events.
    this.#flushing = this.#flushing.then(() => this.#write(batch)).catch(() => undefined);
    await this.#flushing;
  }

  async #write(batch: readonly (readonly [string, readonly string[]])[]): Promise<void> {
    if (batch.length === 0) return;
    await mkdir(this.#folder, { recursive: true });
    for (const [runId, lines] of batch) {
      const before = this.#bytes.get(runId) ?? (await this.#size(runId));
      if (before >= MOST_BYTES) {
        this.#bytes.set(runId, before);
        continue;
      }
      const text = `${lines.join('\n')}\n`;
      const after = before + Buffer.byteLength(text);
      await appendFile(this.#file(runId), after < MOST_BYTES ? text : `${text}${lastLine(lines)}\n`);
      this.#bytes.set(runId, after);
    }
  }

  async #size(runId: string): Promise<number> {
    return stat(this.#file(runId)).then(
      ({ size }) => size,
      () => 0,
    );
  }

  #file(runId: string): string {
    return path.join(this.#folder, `${runId}.jsonl`);
  }
}

/** Says why nothing follows. */
function lastLine(lines: readonly string[]): string {
  const { at, activity } = JSON.parse(lines.at(-1) ?? '{}') as TranscriptEntry;
  const text = `The transcript has reached ${MOST_BYTES / 2 ** 20} MB; nothing more is added to it.`;
  return JSON.stringify({ at, activity, kind: 'note', text } satisfies TranscriptEntry);
}
