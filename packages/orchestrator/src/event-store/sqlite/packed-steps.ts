/** Packs the steps of an archived run into one value, and unpacks them. */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** A row of `workflow_steps`, without its run. */
export interface StepRow {
  /** Of its last event. */
  readonly position: number;
  /** Of its last event. */
  readonly sequence: number;
  readonly at: number;
  /** JSON text. */
  readonly events: string;
  /** 32 bytes an event. */
  readonly hashes: Buffer;
  readonly hash: Buffer;
  /** JSON text; absent where steps are archived. */
  readonly context?: string | null;
}

export function packSteps(steps: readonly StepRow[]): Buffer {
  const rows = steps.map(({ position, sequence, at, events, hashes, hash }) => [
    position,
    sequence,
    at,
    events,
    hashes.toString('base64'),
    hash.toString('base64'),
  ]);
  return zstdCompressSync(JSON.stringify(rows));
}

/** @throws {Error} when it is not what {@link packSteps} made */
export function unpackSteps(packed: Buffer): readonly StepRow[] {
  const rows = JSON.parse(zstdDecompressSync(packed).toString()) as unknown[][];
  return rows.map(([position, sequence, at, events, hashes, hash]) => ({
    position: Number(position),
    sequence: Number(sequence),
    at: Number(at),
    events: String(events),
    hashes: Buffer.from(String(hashes), 'base64'),
    hash: Buffer.from(String(hash), 'base64'),
  }));
}
