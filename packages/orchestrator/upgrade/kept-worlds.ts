/**
 * Worlds that servers of earlier programs left when they were killed: data folder and remote of a scenario of the crash sweep,
 * an archive for each state in which a run can be. A later program has to take up all of them and bring them to their end.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { type Place, placeIn } from '../crash/place.ts';

/** A database names its remote by an absolute path, so that a world lies where it was recorded. */
const WORLDS = '/tmp/autonomous-upgrade';
const ARCHIVES = import.meta.dirname;
/** A process that was killed leaves its turn behind. */
const LONGEST_TURN_MS = 5 * 60_000;

const run = promisify(execFile);

export interface KeptWorld {
  /** Day on which it was recorded, such as `2026-11-29`. */
  readonly date: string;
  readonly scenario: string;
  /** Counts the worlds of a scenario, from 1. */
  readonly number: number;
}

/** All worlds that are kept, the oldest day first. */
export async function listKeptWorlds(): Promise<readonly KeptWorld[]> {
  const entries = await readdir(ARCHIVES, { withFileTypes: true });
  const dates = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted();
  const worlds = await Promise.all(
    dates.map(async (date) =>
      (await readdir(path.join(ARCHIVES, date))).toSorted().flatMap((file): KeptWorld[] => {
        const [, scenario, number] = /^(.+)-(\d+)\.tar\.br$/.exec(file) ?? [];
        return scenario === undefined ? [] : [{ date, scenario, number: Number(number) }];
      }),
    ),
  );
  return worlds.flat();
}

/** The world's own folder, empty. Another process that uses it is waited for. */
export async function openFolder(world: KeptWorld): Promise<Place> {
  const folder = path.join(WORLDS, nameOf(world));
  const turn = `${folder}.turn`;
  await mkdir(WORLDS, { recursive: true });
  while (
    !(await mkdir(turn).then(
      () => true,
      () => false,
    ))
  ) {
    const { mtimeMs } = await stat(turn).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > LONGEST_TURN_MS) await rm(turn, { recursive: true, force: true });
    await delay(200);
  }
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const place = placeIn(folder);
  const remove = async (): Promise<void> => {
    await place.remove();
    await rm(turn, { recursive: true, force: true });
  };
  return { ...place, remove };
}

/** Keeps a world whose server was killed a moment ago, with its repositories packed and its log of writes taken into the database. */
export async function keep(world: KeptWorld, { folder }: Pick<Place, 'folder'>): Promise<void> {
  const copy = await mkdtemp(path.join(tmpdir(), 'autonomous-kept-world-'));
  try {
    await cp(folder, copy, { recursive: true });
    const { remote, data } = placeIn(copy);
    const inMirrors = await readdir(path.join(data, 'mirrors')).catch(() => []);
    const mirrors = inMirrors.filter((name) => name.endsWith('.git'));
    for (const repository of [remote, ...mirrors.map((name) => path.join(data, 'mirrors', name))])
      await run('git', ['-C', repository, 'repack', '-a', '-d', '-q']);
    const database = new Database(path.join(data, 'orchestrator.db'));
    database.pragma('wal_checkpoint(TRUNCATE)');
    database.close();
    await mkdir(path.join(ARCHIVES, world.date), { recursive: true });
    const archive = `${copy}.tar`;
    await run('tar', ['-cf', archive, '-C', copy, '--exclude=./ledger-*', '--exclude=./.npm', '.']);
    await writeFile(archiveOf(world), brotliCompressSync(await readFile(archive)));
    await rm(archive);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** A kept world as it was when its server was killed. */
export async function restore(world: KeptWorld): Promise<Place> {
  const place = await openFolder(world);
  const archive = `${place.folder}.tar`;
  await writeFile(archive, brotliDecompressSync(await readFile(archiveOf(world))));
  await run('tar', ['-xf', archive, '-C', place.folder]);
  await rm(archive);
  return place;
}

function nameOf({ date, scenario, number }: KeptWorld): string {
  return `${date}-${scenario}-${number}`;
}

function archiveOf({ date, scenario, number }: KeptWorld): string {
  return path.join(ARCHIVES, date, `${scenario}-${number}.tar.br`);
}

export async function removeDay(date: string): Promise<void> {
  await rm(path.join(ARCHIVES, date), { recursive: true, force: true });
}
