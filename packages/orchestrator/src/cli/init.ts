/** Prepares a clone for runs: its configuration, with the commands that are found in its files, and what comes next. */
import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Examination, examineProject } from '../activities/install/project-examination.ts';
import { CONFIG_PATH } from '../run-config/project-config.ts';
import { parseProjectConfig } from '../run-config/run-config.ts';
import { linkIn, MAX_FILE, textOf } from './clone-files.ts';
import { CommandFailure, EXIT, UsageError } from './exit.ts';
import { type CliIo, note, say } from './io.ts';
import { askGit } from './local-git.ts';

interface InitOptions {
  readonly test?: string;
  readonly setup?: string;
}

/**
 * @throws {UsageError} outside a clone with a commit
 * @throws {CommandFailure} where a configuration is there that runs would ignore, or where something else is in its place
 */
export async function init(io: CliIo, given: string | undefined, options: InitOptions): Promise<number> {
  const folder = await topOf(resolve(io.cwd, given ?? '.'));
  const file = join(folder, CONFIG_PATH);
  const known = await knownConfig(folder);
  if (known !== null) {
    assertUsable(known);
    say(io, `${CONFIG_PATH} is there already. Nothing was changed.`);
    await sayNext(io, folder, false);
    return EXIT.done;
  }
  const found = await commandsOf(folder, options);
  const { setup, test } = found;
  const commands = {
    ...(setup === null ? {} : { setup: setup.command }),
    ...(test === null || test.command === '' ? {} : { test: test.command }),
  };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify({ defaultRunConfig: { commands } }, null, 2)}\n`, { flag: 'wx' });
  say(io, `written: ${CONFIG_PATH}`);
  say(io, setup === null ? 'install step: none is needed' : `install step: ${setup.command} (from ${setup.source})`);
  if (test !== null) say(io, `tests: ${test.command} (from ${test.source})`);
  for (const { text } of found.findings) note(io, text);
  await sayNext(io, folder, true);
  return EXIT.done;
}

async function commandsOf(folder: string, { setup, test }: InitOptions): Promise<Examination> {
  const listed = await askGit(folder, 'ls-files', '-z');
  const found = await examineProject({
    paths: listed.ok
      ? listed.output
          .split('\0')
          .filter((path) => path !== '')
          .toSorted()
      : [],
    read: async (path) => ((await linkIn(folder, path)) === null ? textOf(join(folder, path)) : null),
    commands: { setup, test },
    // `doctor` asks for the programs of the server's sandbox.
    hasSetupNetwork: true,
    ask: async () => null,
  });
  return found;
}

async function topOf(folder: string): Promise<string> {
  const top = await askGit(folder, 'rev-parse', '--show-toplevel').catch(() => null);
  if (top === null || !top.ok)
    throw new UsageError(`${folder} is not in a git clone. Name one, or run "git init" there and commit.`);
  const head = await askGit(top.output, 'rev-parse', '--verify', '--quiet', 'HEAD');
  if (!head.ok) throw new UsageError(`${top.output} has no commit yet. Runs start from one: commit first.`);
  return top.output;
}

function assertUsable(text: string): void {
  const parsed = parseProjectConfig(text);
  if (parsed.ok) return;
  const faults = parsed.faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('; ');
  throw new CommandFailure(
    `${CONFIG_PATH} is there and runs would ignore it: ${faults}. Correct it, or remove it and call init again.`,
  );
}

async function sayNext(io: CliIo, folder: string, isNew: boolean): Promise<void> {
  const origin = await askGit(folder, 'remote', 'get-url', 'origin');
  const isPushed = origin.ok && origin.output !== '';
  const branch = await askGit(folder, 'branch', '--show-current');
  const push = isPushed ? ` && git push origin ${branch.ok && branch.output !== '' ? branch.output : 'HEAD'}` : '';
  if (isNew) say(io, `next: git add ${CONFIG_PATH} && git commit -m "Configure Autonomous"${push}`);
  say(io, `then: ${io.program} doctor ${folder}`);
  say(io, `and:  ${io.program} run "…" --project ${folder}`);
  if (!isPushed) note(io, `The clone has no remote "origin": runs use ${folder} itself and put their branches there.`);
}

/** The configuration that is there. A clone may have been brought along by others: none of its links is followed. */
async function knownConfig(folder: string): Promise<string | null> {
  const link = await linkIn(folder, CONFIG_PATH);
  if (link !== null)
    throw new CommandFailure(
      `${link} is a symbolic link, and init writes only into the clone itself. Remove the link and call init again.`,
    );
  const text = await textOf(join(folder, CONFIG_PATH));
  const isThere = text !== null || (await lstat(join(folder, CONFIG_PATH)).catch(() => null)) !== null;
  if (text === null && isThere)
    throw new CommandFailure(
      `${CONFIG_PATH} is there and is no file of at most ${MAX_FILE / 1_000_000} MB. Remove it and call init again.`,
    );
  return text;
}
