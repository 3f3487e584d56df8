/** Roadmaps as files of a person's clone. */
import path from 'node:path';
import { readRoadmap, type Roadmap, ROADMAP_PATH } from '../workflows/roadmap-item/roadmap-file.ts';
import { UsageError } from './exit.ts';
import { readTextFile } from './launch/input-files.ts';
import { type CliIo, note } from './io.ts';
import { askGit, topOf } from './local-git.ts';

/** Faults that a command names which needs a roadmap without any. */
const MOST_FAULTS = 20;

/**
 * Path of the roadmap that a person means.
 * @param given the one that they name; absent: that of the repository they stand in
 * @throws {UsageError} where the person names no file and stands in no repository
 */
export async function roadmapFileOf(io: CliIo, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const top = await topOf(io.cwd);
  if (top === null)
    throw new UsageError(`You stand in no git repository whose ${ROADMAP_PATH} could be read. Name the file.`);
  return path.relative(io.cwd, path.join(top, ROADMAP_PATH));
}

/**
 * Says that the branch which the checked out one follows has a newer roadmap, as far as the last fetch tells: runs write their states
 * there. Says nothing where that is not known.
 */
export async function noteIfBehind(io: CliIo, file: string): Promise<void> {
  const folder = path.dirname(path.resolve(io.cwd, file));
  const followed = await askGit(folder, 'rev-parse', '--abbrev-ref', '@{upstream}');
  if (!followed.ok) return;
  const name = path.basename(file);
  const commits = await askGit(folder, 'rev-list', '--count', 'HEAD..@{upstream}', '--', `./${name}`);
  if (!commits.ok || commits.output === '0') return;
  const count = commits.output === '1' ? '1 commit' : `${commits.output} commits`;
  note(
    io,
    `${followed.output} has a newer ${file}: ${count} that this clone does not have yet. See them with: git pull`,
  );
}

/**
 * The roadmap in a file, with its text.
 * @throws {UsageError} naming the faults of the roadmap
 */
export async function roadmapIn(
  io: CliIo,
  file: string,
): Promise<{ readonly roadmap: Roadmap; readonly text: string }> {
  const text = await readTextFile(io, file);
  const read = readRoadmap(text);
  if (read.ok) return { roadmap: read.roadmap, text };
  const shown = read.faults.slice(0, MOST_FAULTS).map(({ message }) => message);
  const beyond = read.faults.length - shown.length;
  const more = beyond > 0 ? [`… and ${beyond} more: ${io.program} roadmap validate ${file}`] : [];
  throw new UsageError([`${file} cannot be read as a roadmap:`, ...shown, ...more].join('\n  '));
}
