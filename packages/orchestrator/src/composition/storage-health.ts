/** Whether steps of runs can be stored now: the data folder, the database, and room on their disks. */
import path from 'node:path';
import { Unavailable } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { ServerConfig } from '../config.ts';
import type { DataFolder } from '../data-folder.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { readDiskRoom } from '../sandboxes/disk-reserve.ts';

/** Interval between checks of the data folder. */
const LOOK_AT_DATA_MS = 10_000;
/** With less on the disk, the server is not ready: git and uploads need more than a step of a run. */
const LEAST_FREE_BYTES = 1024 * 1024;

/** Notices a data folder that has vanished while nothing writes to the database. @returns ends the watch */
export function watchDataFolder(dataFolder: DataFolder, store: SqliteEventStore, log: Logger): () => Promise<void> {
  const look = async (): Promise<void> => {
    const lost = dataFolder.lost();
    if (lost !== null) store.refuse(lost);
    const why = await store.whyNothingIsStored();
    if (why instanceof Unavailable) {
      log.fatal(why.message);
      clearInterval(timer);
    }
  };
  const timer = setInterval(() => void look(), LOOK_AT_DATA_MS);
  timer.unref();
  return async () => clearInterval(timer);
}

/** @returns why nothing can be stored, for who asks whether the server is ready; `null` when it can */
export async function whyNotStorable(config: ServerConfig, store: EventStore): Promise<string | null> {
  const why = await store.whyNothingIsStored();
  if (why !== null) return why.message;
  for (const folder of new Set([config.dataFolder, path.dirname(config.databasePath)])) {
    const room = await readDiskRoom(folder, LEAST_FREE_BYTES);
    if (room !== null && room.freeBytes < LEAST_FREE_BYTES)
      return `The disk that holds ${folder} is full (${room.freeBytes} bytes are free). Free some space; waiting work resumes automatically.`;
  }
  return null;
}

/** @returns why the commands of runs would be ended now, for who asks whether the server is ready; `null` when there is room */
export async function whyNoRoom({ dataFolder }: ServerConfig): Promise<string | null> {
  const shortage = (await readDiskRoom(dataFolder))?.shortage ?? null;
  if (shortage === null) return null;
  return `Runs pause at their next command: ${shortage}. Free some space; they resume automatically.`;
}
