/**
 * Writes the progress of a run into the clone of the person who follows it: a file that git ignores. What it already
 * contains stays. Nothing depends on the file, so that a fault is said once and ends only the writing.
 */
import { constants } from 'node:fs';
import { appendFile, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkflowEvent } from '@autonomous/shared';
import { linkIn, MAX_FILE, textOf } from '../clone-files.ts';
import { type CliIo, note } from '../io.ts';
import { askGit } from '../local-git.ts';

/** The run whose progress is written. */
export interface LoggedRun {
  readonly id: string;
  /** Its progress in words, from its events so far; empty before there is any. */
  textOf(events: readonly WorkflowEvent[]): string;
}

export interface ProgressLogFile {
  /** Takes an event of any run, also once more. */
  take(event: WorkflowEvent): void;
  /** Resolves when all that was taken is written. */
  written(): Promise<void>;
}

/**
 * @param top folder of the clone's working tree
 * @param file path of the log in the repository
 * @returns `null` where it cannot be written, which was said
 */
export async function openProgressLog(
  io: CliIo,
  top: string,
  file: string,
  run: LoggedRun,
): Promise<ProgressLogFile | null> {
  try {
    const fault = await faultOf(top, file);
    if (fault !== null) return without(io, file, fault);
    await ignore(top, file);
  } catch (error) {
    return without(io, file, messageOf(error));
  }
  return new LogFile(io, { file, path: path.join(top, file) }, run);
}

function without(io: CliIo, file: string, fault: string): null {
  note(io, `The progress is not written to ${file}: ${fault}. The record of the run has it.`);
  return null;
}

async function faultOf(top: string, file: string): Promise<string | null> {
  if (path.isAbsolute(file) || file.split('/').includes('..')) return 'the path leads out of the repository';
  const link = await linkIn(top, file);
  if (link !== null) return `${link} is a symbolic link`;
  const tracked = await askGit(top, 'ls-files', '--', `:(literal)${file}`);
  if (tracked.ok && tracked.output !== '')
    return 'git tracks the file. Remove it from the repository to have it written';
  return null;
}

/** Before the `.gitignore` of the run's first commit is pulled, the clone's own list does the same. */
async function ignore(top: string, file: string): Promise<void> {
  // It prints the path where it is ignored.
  const ignored = await askGit(top, 'check-ignore', '--', file);
  if (ignored.ok && ignored.output !== '') return;
  const place = await askGit(top, 'rev-parse', '--git-path', 'info/exclude');
  if (!place.ok) throw new Error(place.message);
  const exclude = path.resolve(top, place.output);
  await mkdir(path.dirname(exclude), { recursive: true });
  const text = await readFile(exclude, 'utf8').catch(() => '');
  await appendFile(exclude, `${text === '' || text.endsWith('\n') ? '' : '\n'}/${file}\n`);
}

class LogFile implements ProgressLogFile {
  readonly #io: CliIo;
  readonly #place: { readonly file: string; readonly path: string };
  readonly #run: LoggedRun;
  readonly #events: WorkflowEvent[] = [];
  /** The run's part of the file as it was written last; empty before. */
  #part = '';
  #isWaiting = false;
  #hasFailed = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(io: CliIo, place: { readonly file: string; readonly path: string }, run: LoggedRun) {
    this.#io = io;
    this.#place = place;
    this.#run = run;
  }

  take(event: WorkflowEvent): void {
    if (event.workflowRunId !== this.#run.id || event.sequence <= (this.#events.at(-1)?.sequence ?? 0)) return;
    this.#events.push(event);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#writing = this.#writing.then(() => this.#write());
  }

  written(): Promise<void> {
    return this.#writing;
  }

  async #write(): Promise<void> {
    this.#isWaiting = false;
    const part = this.#run.textOf(this.#events);
    if (this.#hasFailed || part === this.#part) return;
    try {
      await mkdir(path.dirname(this.#place.path), { recursive: true });
      await writeText(this.#place.path, withPart(await currentText(this.#place.path), this.#part, part));
      this.#part = part;
    } catch (error) {
      this.#hasFailed = true;
      without(this.#io, this.#place.file, messageOf(error));
    }
  }
}

/** Another run may write to the same file, and a person, too: only the run's own part is replaced. */
function withPart(text: string, before: string, part: string): string {
  const at = before === '' ? -1 : text.lastIndexOf(before);
  if (at !== -1) return `${text.slice(0, at)}${part}${text.slice(at + before.length)}`;
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return `${text}${gap}${part}`;
}

async function currentText(file: string): Promise<string> {
  const text = await textOf(file);
  if (text !== null) return text;
  // An absent file is begun, and nothing else is replaced.
  try {
    await writeFile(file, '', { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`it is no file of at most ${MAX_FILE / 1_000_000} MB`, { cause: error });
  }
  return '';
}

async function writeText(file: string, text: string): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  try {
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
}

function messageOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code ?? (error instanceof Error ? error.message : String(error));
}
