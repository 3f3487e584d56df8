/**
 * Checkpoints of a topic: `docs/research-<topic>/transcripts/` with the transcripts of sessions, the state file as it was, and a log. Git
 * ignores the folder.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { linkIn } from '../clone-files.ts';
import type { OpenTopic } from './open-topic.ts';

const FOLDER = 'transcripts';
const LOG = 'progress.txt';
/** Checkpoints of a topic that are kept: the newest ones. */
const MOST_KEPT = 20;
/** Time and session of a checkpoint, and the endings of its two files. */
const CHECKPOINT_FILE = /^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[\dA-Za-z]{1,8})(?:\.jsonl|-state\.md)$/;
const DRAFT = '.draft-';
const DRAFT_LEFT_AFTER_MS = 60 * 60 * 1_000;
const SHORT_ID = 8;

export interface Checkpoint {
  readonly at: Date;
  readonly sessionId: string | null;
  /** Lines of the transcript; `null`: there is none. */
  readonly lines: readonly string[] | null;
  /** Makes the line of the log from the name of the transcript, relative to the topic's folder. */
  readonly logLine: (transcript: string) => string;
}

/** Path of the log, relative to the repository. */
export function checkpointLogOf({ folder }: OpenTopic): string {
  return `${folder}/${FOLDER}/${LOG}`;
}

/**
 * Writes a checkpoint whole, a line of the log, and removes the oldest checkpoints.
 * @throws where the folder is a symbolic link or cannot be written
 */
export async function writeCheckpoint(topic: OpenTopic, { at, sessionId, lines, logLine }: Checkpoint): Promise<void> {
  const folder = await makeFolder(topic);
  const name = `${at.toISOString().replaceAll(':', '-')}-${shortId(sessionId)}`;
  await writeWhole(path.join(folder, `${name}-state.md`), topic.state);
  if (lines !== null) await writeWhole(path.join(folder, `${name}.jsonl`), lines.map((line) => `${line}\n`).join(''));
  await appendLine(path.join(folder, LOG), logLine(`${FOLDER}/${name}.jsonl`));
  await removeOld(folder, at.getTime());
}

/** Beginning of a session's id as it stands in names and lines. */
export function shortId(sessionId: string | null): string {
  const plain = (sessionId ?? '').replaceAll(/[^\dA-Za-z]/g, '').slice(0, SHORT_ID);
  return plain === '' ? 'session' : plain;
}

/** The files of the newest checkpoint, relative to the repository, the transcript first; empty where there is none. */
export async function newestCheckpoint(topic: OpenTopic): Promise<readonly string[]> {
  const { root, folder } = topic;
  if ((await linkIn(root, `${folder}/${FOLDER}`)) !== null) return [];
  const [newest = []] = checkpointsIn(await readdir(path.join(root, folder, FOLDER)).catch(() => []));
  return newest.map((name) => `${folder}/${FOLDER}/${name}`);
}

/** Names of files by checkpoint, the newest first. */
function checkpointsIn(names: readonly string[]): readonly (readonly string[])[] {
  const byName = Map.groupBy(
    names.filter((name) => CHECKPOINT_FILE.test(name)),
    (name) => CHECKPOINT_FILE.exec(name)?.[1] ?? '',
  );
  return [...byName]
    .toSorted(([a], [b]) => (a < b ? 1 : -1))
    .map(([, files]) => files.toSorted((a, b) => Number(b.endsWith('.jsonl')) - Number(a.endsWith('.jsonl'))));
}

async function makeFolder({ root, folder }: OpenTopic): Promise<string> {
  const relative = `${folder}/${FOLDER}`;
  const whole = path.join(root, relative);
  const link = await linkIn(root, relative);
  if (link !== null) throw new Error(`${path.join(root, link)} is a symbolic link`);
  await mkdir(whole, { recursive: true, mode: 0o700 });
  // Before the first transcript is there. A person who wants some of them in commits may write another one.
  await writeFile(path.join(whole, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  return whole;
}

async function writeWhole(file: string, text: string): Promise<void> {
  const draft = path.join(path.dirname(file), `${DRAFT}${randomUUID()}`);
  try {
    await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

async function appendLine(file: string, line: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    await handle.write(`${line}\n`);
  } finally {
    await handle.close();
  }
}

async function removeOld(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder);
  for (const name of checkpointsIn(names).slice(MOST_KEPT).flat()) await rm(path.join(folder, name), { force: true });
  for (const name of names.filter((each) => each.startsWith(DRAFT))) {
    const found = await lstat(path.join(folder, name)).catch(() => null);
    if (found !== null && found.mtimeMs < nowMs - DRAFT_LEFT_AFTER_MS)
      await rm(path.join(folder, name), { force: true });
  }
}
