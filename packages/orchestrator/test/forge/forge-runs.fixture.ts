/** A server whose projects lie at a forge on this machine: each has a repository of its own there, so that tests share the server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type NewRun,
  bindingOf,
  type GateDecision,
  type Project,
  type RunConfigRequest,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import { vi } from 'vitest';
import { pushBranch } from '../../src/forges/forge.contract.ts';
import { type GitHubGround, openGitHubGround, PEOPLE, SERVER_TOKEN } from '../../src/forges/github/github.fixture.ts';
import type { RepositoryOptions, StandInRepository } from '../../src/forges/github/github-server-state.fixture.ts';
import { aScript, FILES, passes, startServer, type StartedServer } from '../fixtures/orchestrator.fixture.ts';

const PATIENCE = { timeout: 120_000, interval: 200 };
/** Contents of a new repository. */
export const TEXTS = Object.fromEntries(
  Object.entries(FILES).flatMap(([name, file]) => (typeof file === 'string' ? [[name, file] as const] : [])),
);

export interface Pull {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: string;
  readonly merged_at: string | null;
  readonly head: { readonly ref: string; readonly sha: string };
}

export interface ForgeServer {
  readonly ground: GitHubGround;
  /** The one that runs now. */
  readonly server: StartedServer;
  readonly folder: string;
  /** A project with a repository of its own. */
  project(name: string, options?: RepositoryOptions): Promise<ForgeProject>;
  /** @param whileDown what people do before the server starts again, with the same data */
  restart(whileDown?: () => Promise<unknown>, env?: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

/** Starts a forge and a server that is signed in there. */
export async function startForgeServer(
  script: Parameters<typeof aScript>[0] = {},
  env: Readonly<Record<string, string>> = {},
): Promise<ForgeServer> {
  const ground = await openGitHubGround();
  const folder = mkdtempSync(path.join(tmpdir(), 'forge-runs-'));
  const start = (changes: Readonly<Record<string, string>> = {}) =>
    startServer(folder, {
      script: aScript({ validator: Array.from({ length: 6 }, () => passes()), ...script }),
      env: {
        GITHUB_TOKEN: SERVER_TOKEN,
        GITHUB_API_URL: ground.server.apiUrl,
        FORGE_POLL_SECONDS: '1',
        RESUME_PROBE_SECONDS: '1',
        ...env,
        ...changes,
      },
    });
  let server = await start();
  return {
    ground,
    get server() {
      return server;
    },
    folder,
    async project(name, options = {}) {
      const repository = ground.server.addRepository('acme', name, {
        files: TEXTS,
        ...options,
        collaborators: { 'octo-server': 'write', anna: 'write', ...options.collaborators },
      });
      const address = ground.server.addressOf(repository);
      return new ForgeProject(
        ground,
        () => server,
        repository,
        await server.client.createProject({ name, repository: address }),
      );
    },
    async restart(whileDown = async () => undefined, changes = {}) {
      await server.stop();
      await whileDown();
      server = await start(changes);
    },
    async close() {
      await server.stop();
      await ground.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export class ForgeProject {
  readonly #ground: GitHubGround;
  readonly #server: () => StartedServer;
  readonly repository: StandInRepository;
  readonly project: Project;

  constructor(ground: GitHubGround, server: () => StartedServer, repository: StandInRepository, project: Project) {
    this.#ground = ground;
    this.#server = server;
    this.repository = repository;
    this.project = project;
  }

  async launch(
    git: RunConfigRequest['git'] = {},
    config: RunConfigRequest = {},
    workflow: Pick<NewRun, 'workflow' | 'input'> = {},
  ): Promise<ForgeRun> {
    const { id } = await this.#server().client.launchRun({
      projectId: this.project.id,
      request: 'Add the feature',
      ...workflow,
      config: {
        ...(workflow.workflow === undefined ? { trustMode: { planning: 'auto' } } : {}),
        ...config,
        git: { createPR: true, ...git },
      },
    });
    return new ForgeRun(this.#server, id);
  }

  /** A run whose pull request is open. */
  async opened(git: RunConfigRequest['git'] = {}): Promise<{
    readonly run: ForgeRun;
    readonly view: RunView;
    readonly number: number;
  }> {
    const run = await this.launch(git);
    const view = await run.atPullRequest();
    return { run, view, number: view.published?.pullRequest?.number ?? 0 };
  }

  /** @param path after the one of the repository */
  async as(person: keyof typeof PEOPLE, method: string, path: string, body?: object): Promise<unknown> {
    const route = `${method} /repos/${this.repository.fullName}${path}`;
    const answer = await this.#ground.server.as(PEOPLE[person], route, body);
    if (answer.status >= 300) throw new Error(`${route}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async pulls(): Promise<readonly Pull[]> {
    return (await this.as('anna', 'GET', '/pulls?state=all')) as readonly Pull[];
  }

  async pull(number: number): Promise<Pull> {
    return (await this.as('anna', 'GET', `/pulls/${number}`)) as Pull;
  }

  /** Reviews, threads and comments as the server reads them. */
  discussion(number: number) {
    const [owner = '', name = ''] = this.repository.fullName.split('/');
    return this.#ground.forge.repository({ owner, name }).discussion(number);
  }

  comment(number: number, body: string, person: keyof typeof PEOPLE = 'anna'): Promise<unknown> {
    return this.as(person, 'POST', `/issues/${number}/comments`, { body });
  }

  /** Reports the result of a check of a commit to the forge. */
  report(commit: string | undefined, state: string, context = 'ci'): Promise<unknown> {
    return this.as('anna', 'POST', `/statuses/${commit}`, { state, context, description: 'feature.sh is wrong' });
  }

  merge(number: number): Promise<unknown> {
    return this.as('anna', 'PUT', `/pulls/${number}/merge`, { merge_method: 'merge' });
  }

  /** A person pushes files on top of a branch. */
  async push(files: Readonly<Record<string, string>>, branch = 'main'): Promise<void> {
    const place = { forge: this.#ground.forge, address: this.#ground.server.addressOf(this.repository) };
    await pushBranch(place, files, { from: branch, name: branch });
  }

  /** A person merges main into a branch that conflicts with it, and resolves it with these files. */
  async resolve(branch: string, files: Readonly<Record<string, string>>): Promise<void> {
    const main = this.repository.headOf('main') ?? '';
    const before = this.repository.headOf(branch) ?? '';
    await this.push(files, branch);
    const merge = this.repository.git('commit-tree', `${branch}^{tree}`, '-p', before, '-p', main, '-m', 'Merge main');
    this.repository.git('update-ref', `refs/heads/${branch}`, merge);
  }
}

export class ForgeRun {
  readonly #server: () => StartedServer;
  readonly id: string;

  constructor(server: () => StartedServer, id: string) {
    this.#server = server;
    this.id = id;
  }

  view(): Promise<RunView> {
    return this.#server().client.getRun(this.id);
  }

  /** Resolves with the run once this holds; rejects where it fails before. */
  async until(isThere: (view: RunView) => boolean): Promise<RunView> {
    const view = await vi.waitFor(async () => {
      const now = await this.view();
      if (isThere(now) || now.status === 'failed') return now;
      const { gate, status } = now;
      throw new Error(`run ${this.id} is ${status} ${gate?.kind ?? ''} ${gate?.reason ?? ''} ${gate?.summary ?? ''}`);
    }, PATIENCE);
    if (!isThere(view)) throw new Error(`run ${this.id} failed: ${view.failure ?? ''}`);
    return view;
  }

  /** Resolves at a pause that says this, with its words and reason. */
  async paused(
    saying = /^/,
  ): Promise<{ readonly reason: string; readonly summary: string; readonly ways: readonly string[] }> {
    const { gate } = await this.until((view) => view.gate?.kind === 'pause' && saying.test(view.gate.summary));
    return { reason: gate?.reason ?? '', summary: gate?.summary ?? '', ways: gate?.question?.options ?? [] };
  }

  /** Resolves at the gate of the pull request once its merge was refused, with the forge's words. */
  async refused(saying = /./): Promise<string> {
    const wordsOf = ({ gate }: RunView) => (gate?.kind === 'pull_request' ? String(gate.details['refused'] ?? '') : '');
    return wordsOf(await this.until((view) => saying.test(wordsOf(view))));
  }

  atPullRequest(): Promise<RunView> {
    return this.until(({ gate }) => gate?.kind === 'pull_request');
  }

  /** Resolves at the gate of the pull request with another commit than this one. */
  pushedAfter(commit: string | undefined): Promise<RunView> {
    return this.until(({ gate, published }) => gate?.kind === 'pull_request' && published?.commit !== commit);
  }

  completed(): Promise<RunView> {
    return this.until(({ status }) => status === 'completed');
  }

  async decide(decision: GateDecision): Promise<void> {
    const { gate } = await this.view();
    if (gate === null) throw new Error('no gate is open');
    await this.#server().client.decideOpenGate(this.id, { ...bindingOf(decision.decision, gate), ...decision });
  }

  retry(): Promise<void> {
    return this.decide({ decision: 'retry' });
  }

  /** Chooses the way on that begins with these words. */
  async choose(beginning: string): Promise<void> {
    const { ways } = await this.paused();
    const way = ways.find((each) => each.startsWith(beginning));
    if (way === undefined) throw new Error(`no way begins with '${beginning}': ${ways.join(' | ')}`);
    await this.decide({ decision: 'answer', response: way });
  }

  events(): Promise<readonly WorkflowEvent[]> {
    return this.#server().client.listEvents(this.id, 0, 1_000);
  }

  async notices(): Promise<readonly string[]> {
    return (await this.events()).flatMap(({ type, payload }) =>
      type === 'NOTICE' ? [String((payload as { readonly message?: unknown }).message)] : [],
    );
  }
}
