/** Finds the topic that is worked on in a repository: the folder `docs/research-<topic>/` whose state file says `in_progress`. */
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { parseFrontMatter } from '../../documents/front-matter.ts';
import { linkIn, textOf } from '../clone-files.ts';
import { plainLine } from './plain-line.ts';
import { repositoryOf } from './repository-of.ts';

const DOCS = 'docs';
const PREFIX = 'research-';
/** Folders of topics that are looked at, at most. */
const MOST_TOPICS = 500;
const LONGEST_PHASE = 120;

export interface OpenTopic {
  readonly name: string;
  /** The repository. */
  readonly root: string;
  /** Its folder, relative to the repository. */
  readonly folder: string;
  /** Path of the state file, relative to the repository, and its text. */
  readonly statePath: string;
  readonly state: string;
  /** Phase with its iteration, in one line; `null`: the state file names none. */
  readonly phase: string | null;
  /** Time of the last change of the state file. */
  readonly touchedAtMs: number;
}

/**
 * The unfinished topic of the repository in which a folder lies; outside of repositories, of the folder. Of several the one whose state
 * file was changed last.
 * @returns `null` where none is in progress
 */
export async function openTopicOf(folder: string): Promise<OpenTopic | null> {
  const root = (await repositoryOf(folder)) ?? folder;
  if ((await linkIn(root, DOCS)) !== null) return null;
  const entries = await readdir(path.join(root, DOCS), { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(PREFIX))
    .map(({ name }) => name.slice(PREFIX.length))
    .toSorted()
    .slice(0, MOST_TOPICS);
  const topics = (await Promise.all(names.map((name) => topicIn(root, name)))).filter((topic) => topic !== null);
  return topics.toSorted((a, b) => b.touchedAtMs - a.touchedAtMs)[0] ?? null;
}

async function topicIn(root: string, name: string): Promise<OpenTopic | null> {
  const folder = `${DOCS}/${PREFIX}${name}`;
  const statePath = `${folder}/${name}-state.md`;
  const file = path.join(root, statePath);
  const found = await lstat(file).catch(() => null);
  const state = found?.isFile() === true ? await textOf(file).catch(() => null) : null;
  if (found === null || state === null) return null;
  const read = parseFrontMatter(state);
  if (!read.ok || read.fields['status'] !== 'in_progress') return null;
  return { name, root, folder, statePath, state, phase: phaseOf(read.fields), touchedAtMs: found.mtimeMs };
}

function phaseOf({ current_phase: phase, iteration }: Readonly<Record<string, unknown>>): string | null {
  const parts = [
    typeof phase === 'string' ? plainLine(phase, LONGEST_PHASE) : '',
    typeof iteration === 'number' ? `iteration ${iteration}` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? null : parts.join(', ');
}
