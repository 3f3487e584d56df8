/**
 * A GitHub on this machine for the demo: pull requests, reviews and merges over its API, with a real bare repository behind
 * them. It has an account for the server and one for a reviewer.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { startGitHubServer } from '../src/forges/github/github-server.fixture.ts';

/** Accounts with a token each. They are known to the stand-in alone. */
const SERVER = { login: 'autonomous-server', token: 'demo-token-of-the-server' };
const REVIEWER = { login: 'reviewer', token: 'demo-token-of-the-reviewer' };
const OWNER = 'demo';
const NAME = 'notes';

export interface DemoForge {
  /** Settings with which the server signs in there. */
  readonly env: Readonly<Record<string, string>>;
  /** Git address of the project. */
  readonly address: string;
  /** The bare repository behind it. */
  readonly remote: string;
  /** The reviewer asks for a change. @returns what was asked, in one line */
  review(run: RunView): Promise<string>;
  /** Comments of the reviewer's threads with the answers to them, oldest first. */
  threads(): readonly ReviewComment[];
  /** Writes what a reviewer reads into a file, since the stand-in has no pages. @returns the file */
  writePullRequest(): Promise<string>;
  close(): Promise<void>;
}

interface ReviewComment {
  readonly login: string;
  readonly body: string;
}

/**
 * @param folder absolute; the repository is made below it
 * @param project folder whose files are the first commit
 */
export async function openDemoForge(folder: string, project: string): Promise<DemoForge> {
  const server = await startGitHubServer(folder);
  for (const { login, token } of [SERVER, REVIEWER]) server.tokens.set(token, { login, scopes: ['repo'] });
  const repository = server.addRepository(OWNER, NAME, {
    files: await filesOf(project),
    collaborators: { [SERVER.login]: 'write', [REVIEWER.login]: 'write' },
  });
  return {
    env: { GITHUB_TOKEN: SERVER.token, GITHUB_API_URL: server.apiUrl },
    address: server.addressOf(repository),
    remote: repository.folder,
    async review({ published }) {
      const body = 'Ten minutes are long for somebody who only comes back from a provider. Five are enough.';
      const route = `POST /repos/${repository.fullName}/pulls/${published?.pullRequest?.number}/reviews`;
      const { status } = await server.as(REVIEWER.token, route, {
        commit_id: published?.commit,
        event: 'REQUEST_CHANGES',
        body: '',
        comments: [{ path: 'src/login.js', line: 7, body }],
      });
      if (status >= 300) throw new Error(`The review was answered with ${status}`);
      return `${REVIEWER.login} on src/login.js, line 7: ${body}`;
    },
    threads: () =>
      [...repository.issues.values()].flatMap(({ pull }) => pull?.threads ?? []).flatMap(({ comments }) => comments),
    async writePullRequest() {
      const texts = [...repository.issues.values()].map(({ title, body }) => `# ${title}\n\n${body}\n`);
      const file = path.join(folder, 'pull-request.md');
      await writeFile(file, texts.join('\n---\n\n'));
      return file;
    },
    close: () => server.close(),
  };
}

async function filesOf(project: string): Promise<Record<string, string>> {
  const entries = await readdir(project, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const read = async (file: string) => {
    const name = path.relative(project, file);
    // npm installs no file of a package as .gitignore, so the published demo has another name for it.
    return [name === 'gitignore' ? '.gitignore' : name, await readFile(file, 'utf8')] as const;
  };
  return Object.fromEntries(await Promise.all(files.map(read)));
}
