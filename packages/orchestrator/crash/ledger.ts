/** Ledger of a server in the sweep: lines about the points that it passed, its requests and the files that it left. */
import { openSync, readFileSync, writeSync } from 'node:fs';

export type LedgerLine =
  /** A boundary was passed; its name is unique within the life of the process. */
  | { readonly passed: string }
  /** A step is on disk, and a run is there now: its label and the state of its machine. */
  | { readonly entered: string }
  /** A model request is about to leave, and what the store had booked for its activity then. */
  | { readonly asks: { readonly key: string; readonly attempt: number } }
  /** Everything is up: what was open is taken up, requests are answered. */
  | { readonly up: true }
  /** What the store had open when the server was told to stop. */
  | { readonly left: { readonly activities: readonly string[]; readonly timers: readonly string[] } }
  /** The process ends itself here. */
  | { readonly killed: string };

/** Appends lines that are in the file before the call returns, so that a process which ends then has said them. */
export class Ledger {
  readonly #file: number;

  constructor(file: string) {
    this.#file = openSync(file, 'a');
  }

  write(line: LedgerLine): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

/** Everything that a process wrote; nothing for one that never came to write. */
export function readLedger(file: string): readonly LedgerLine[] {
  const text = readFileSync(file, { encoding: 'utf8', flag: 'a+' });
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerLine); // written by the class above
}
