/** The part of a release that leaves this machine: whether it may begin, and the commands that publish the files. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Release } from './build.ts';
import { type GitFacts, ROOT } from './facts.ts';

const execute = promisify(execFile);
const MAIN = 'main';

export interface PublishCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Reasons why a release cannot be published, each a sentence with the way out; empty when it may begin.
 * @param changesets number of changes that wait for a release
 * @param isTagged the version of the packages was released: its tag is there
 */
export function findObstacles(
  git: GitFacts,
  repository: string,
  changesets: number,
  isTagged: boolean,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const { branch, changes, origin } = git;
  const missing = ['NODE_AUTH_TOKEN', 'OVSX_PAT', 'VSCE_PAT'].filter((name) => (env[name] ?? '') === '');
  return [
    ...(changes.length === 0
      ? []
      : [
          `The tree has ${changes.length} changed or unknown files, the first is ${changes[0]?.slice(3)}. Commit or remove them.`,
        ]),
    ...(branch === MAIN
      ? []
      : [`The branch is ${branch ?? 'none'}. Releases are made from ${MAIN}: git switch ${MAIN}.`]),
    ...(changesets > 0 || !isTagged
      ? []
      : [
          'There is nothing to release: this version has its tag, and .changeset has no change. Describe one with npm run changeset.',
        ]),
    ...(addressOf(origin) === repository
      ? []
      : [
          `The remote 'origin' is ${origin ?? 'not set'} and package.json names ${repository}. npm refuses provenance for another repository.`,
        ]),
    ...missing.map((name) => `${name} is not set. It is the token for ${TOKENS[name]}.`),
    ...((env['ACTIONS_ID_TOKEN_REQUEST_URL'] ?? env['SIGSTORE_ID_TOKEN']) === undefined
      ? ['There is no identity for npm --provenance. Run the release in CI with the permission id-token: write.']
      : []),
  ];
}

const TOKENS: Readonly<Record<string, string>> = {
  NODE_AUTH_TOKEN: 'the npm registry',
  OVSX_PAT: 'open-vsx.org',
  VSCE_PAT: 'the Visual Studio Marketplace',
};

/** @param out absolute folder of the release */
export function publishCommands(out: string, { files }: Release): readonly PublishCommand[] {
  const npm = files.filter(({ file }) => file.endsWith('.tgz'));
  const extensions = files.filter(({ file }) => file.endsWith('.vsix'));
  return [
    // The extension installs the server, which has to be there before.
    ...npm.map(({ file }) => ({
      command: 'npm',
      args: ['publish', path.join(out, file), '--provenance', '--access', 'public'],
    })),
    ...extensions.flatMap(({ file }) => [
      { command: 'npx', args: ['--yes', 'ovsx', 'publish', path.join(out, file)] },
      { command: 'npx', args: ['--yes', '@vscode/vsce', 'publish', '--packagePath', path.join(out, file)] },
    ]),
  ];
}

/** Changes that wait for a release. */
export async function countChangesets(): Promise<number> {
  const files = await readdir(path.join(ROOT, '.changeset'));
  return files.filter((file) => file.endsWith('.md')).length;
}

/**
 * Turns waiting changesets into versions and changelogs, names the versions of workflows that users get from now on, and commits what
 * that changes.
 */
export async function prepareVersion(changesets: number): Promise<void> {
  if (changesets > 0) await execute('changeset', ['version'], { cwd: ROOT });
  // The workflows are loaded by a release alone.
  const { pinRelease } = await import('../packages/orchestrator/golden/pins.ts');
  pinRelease();
  const { stdout: changes } = await execute('git', ['status', '--porcelain'], { cwd: ROOT });
  // A release that is started again has committed it before.
  if (changes === '') return;
  await execute('git', ['commit', '--all', '--quiet', '--message=chore(release): version'], { cwd: ROOT });
}

/** Whether a version was released. The first one, and one whose release was interrupted, have no tag yet. */
export async function isTagged(version: string): Promise<boolean> {
  const { stdout } = await execute('git', ['tag', '--list', `v${version}`], { cwd: ROOT });
  return stdout.trim() !== '';
}

/** Carries a command out. A file that was published before, by a release that was interrupted, is passed over. */
export async function run({ command, args }: PublishCommand): Promise<string> {
  try {
    const { stdout } = await execute(command, [...args], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
    return stdout.trim();
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    if (/previously published|already (?:exists|published)/i.test(stderr)) return `${args[1]} was published before.`;
    throw new Error(`${command} ${args.join(' ')} failed:\n${stderr.trim()}`, { cause: error });
  }
}

/** `https://HOST/PATH` of a remote's address. */
function addressOf(origin: string | null): string | null {
  if (origin === null) return null;
  return origin
    .replace(/^(?:ssh:\/\/)?git@([^:/]+)[:/]/, 'https://$1/')
    .replace(/\.git$/, '')
    .replace(/\/$/, '');
}
