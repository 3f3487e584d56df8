/**
 * Checks of git itself, which a simulated outside cannot cover: a run is published while its server is killed at each
 * of its writes in turn, and others move the base before the next server starts. Real activities on a real mirror and
 * remote.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ActivityTools } from '../src/activities/tools.ts';
import { commitOnBranch } from '../src/activities/git/commits.ts';
import { integrate } from '../src/activities/git/integrate-base.ts';
import { merge } from '../src/activities/git/merge-into-base.ts';
import { copyRecord } from '../src/workflows/build/activities/publishing.ts';
import { createGitRepository } from '../src/repository/git-repository.ts';
import type { RemoteProject, Repository } from '../src/repository/repository.ts';
import type { Activity, ActivityContext } from '../src/core/activity.ts';
import type { Integrated, Recorded } from '../src/workflows/build/types.ts';
import { withMethods } from './plants.ts';

export const GIT_CHECKS = {
  /** Whatever is killed and moved, the base has in the end what others brought and what the run did. */
  killed: () => inFolder(keepsWorkOfOthers),
  /** A commit of the server that takes back what others merged is never merged. */
  asserted: () => inFolder(refusesWhatIsNotOwn),
} satisfies Record<string, () => Promise<boolean>>;
export type GitCheck = keyof typeof GIT_CHECKS;

const AT = '2026-03-01T12:00:00.000Z';
const RUN = { runId: 'r-1', projectId: 'p-1', request: 'Mine', branch: 'autonomous/r-1-mine', startedAt: AT };
const PLAN_PATH = '.autonomous/specs/001-mine.md';
/** Those of a publishing: two commits of the integration, one of the record, one of the merge, and its push. */
const WRITES = 5;

class Killed extends Error {}

/** A project with one run that is ready to be published, and another one that was merged since it began. */
class Place {
  readonly remote: string;
  readonly #repository: Repository;
  readonly #project: RemoteProject;
  #start = '';

  constructor(folder: string) {
    this.remote = path.join(folder, 'remote.git');
    this.#project = { id: 'p-1', repository: this.remote, baseBranch: 'main' };
    const author = { name: 'Autonomous', email: 'autonomous@example.test' };
    this.#repository = createGitRepository({ folder: path.join(folder, 'mirrors'), author });
    mkdirSync(folder);
    git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', this.remote);
    this.bring({ 'README.md': '# Shop\n' });
  }

  /** A commit of somebody else on the base branch. */
  bring(files: Readonly<Record<string, string>>): void {
    const input = Object.entries(files).map(([name, text]) => `M 100644 inline ${name}\n${data(text)}`);
    const head = git(this.remote, 'for-each-ref', '--format=%(objectname)', 'refs/heads/main');
    const from = head === '' ? '' : `from ${head}\n`;
    const commit = `commit refs/heads/main\ncommitter Person <person@example.test> 1767225600 +0000\n${data('Theirs')}${from}`;
    execFileSync('git', ['fast-import', '--quiet'], {
      cwd: this.remote,
      input: commit + input.join(''),
      stdio: 'pipe',
    });
  }

  file(name: string): string | null {
    try {
      return git(this.remote, 'show', `main:${name}`);
    } catch {
      return null;
    }
  }

  /** @param kills the write, from 1, after which the server ends; `null` for none */
  tools(kills: number | null): ActivityTools {
    let writes = 0;
    const write = async <Result>(work: Promise<Result>): Promise<Result> => {
      const result = await work;
      if (++writes === kills) throw new Killed();
      return result;
    };
    const repository = withMethods(this.#repository, (real) => ({
      commit: (...args: Parameters<Repository['commit']>) => write(real.commit(...args)),
      push: (...args: Parameters<Repository['push']>) => write(real.push(...args)),
    }));
    const config = { git: { baseBranch: 'main' } };
    const lists = { gates: [], artifacts: [], evidence: [], decisions: [], clarifications: [] };
    const view = { id: RUN.runId, config, baseCommit: this.#start, ...lists };
    // The other ports have no part in publishing.
    return {
      repository,
      project: () => Promise.resolve({ ...this.#project, name: 'shop' }),
      view: () => Promise.resolve(view),
      log: () => Promise.resolve([]),
      steps: () => Promise.resolve([]),
      scrub: (text: string) => text,
      reviewPaths: [],
      assertRecordKnown: async () => undefined,
    } as unknown as ActivityTools;
  }

  /** The run's plan and code. */
  async begin(): Promise<Head> {
    const tools = this.tools(null);
    await this.#repository.fetch(this.#project);
    const baseCommit = (await this.#repository.remoteHead(this.#project, 'main')) ?? '';
    this.#start = baseCommit;
    const plan = await this.commit(tools, baseCommit, 'commitPlan', { [PLAN_PATH]: '# Mine\n' });
    return { baseCommit, head: await this.commit(tools, plan, 'commitCode', { 'mine.js': 'mine\n' }) };
  }

  async commit(
    tools: ActivityTools,
    head: string,
    activity: string,
    files: Readonly<Record<string, string | null>>,
  ): Promise<string> {
    const project = this.#project;
    const tree = await tools.repository.writeFiles(project, await tools.repository.treeOf(project, head), files);
    return commitOnBranch(tools, contextOf(activity, 5), {
      project,
      branch: RUN.branch,
      head,
      tree,
      message: activity,
    });
  }

  codeTree(head: string): Promise<string> {
    return this.#repository.codeTree(this.#project, head);
  }
}

interface Head {
  readonly head: string;
  readonly baseCommit: string;
}

async function keepsWorkOfOthers(folder: string): Promise<boolean> {
  for (let kills = 1; kills <= WRITES; kills++) {
    const place = new Place(path.join(folder, String(kills)));
    const begun = await place.begin();
    place.bring({ 'theirs.js': 'theirs\n', '.autonomous/specs/001-theirs.md': '# Theirs\n' });
    const isPublished = await publish(place, begun, kills).catch(() => false);
    const isThere = ['theirs.js', 'mine.js', 'between.js'].every((name) => place.file(name) !== null);
    if (!isPublished || !isThere) return false;
    if (place.file('.autonomous/specs/001-theirs.md') !== '# Theirs') return false;
  }
  return true;
}

/** As the machine does it, on two servers: the first is killed, then somebody merges, then the second goes on. */
async function publish(place: Place, begun: Head, kills: number): Promise<boolean> {
  let tools = place.tools(kills);
  let at = begun;
  const carryOut = async <Output>(
    make: (tools: ActivityTools) => Activity<never, Output>,
    input: object,
    sequence: number,
  ): Promise<Output> => {
    const perform = async (): Promise<Output> => {
      const activity = make(tools);
      const context = contextOf(make.name, sequence);
      return (await activity.find?.(input as never, context)) ?? activity.perform(input as never, context);
    };
    try {
      return await perform();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      place.bring({ 'between.js': 'between\n' });
      tools = place.tools(null);
      return perform();
    }
  };
  for (let sequence = 10; sequence < 60; sequence += 10) {
    const wanted = { ...RUN, ...at, baseBranch: 'main', planPath: PLAN_PATH };
    const taken: Integrated = await carryOut(integrate, wanted, sequence);
    if (taken.moved) {
      at = { head: taken.commit, baseCommit: taken.baseCommit };
      continue;
    }
    const codeTree = await place.codeTree(at.head);
    const lists = { evidence: [], decisions: [], techStack: [], patterns: [] };
    const facts = { ...RUN, ...lists, plan: null, review: null, failure: null, accepted: false, title: 'Mine' };
    const record: Recorded = await carryOut(copyRecord, { ...facts, head: at.head, codeTree }, sequence + 1);
    at = { ...at, head: record.commit };
    const into = { ...RUN, ...at, baseBranch: 'main', strategy: 'squash', codeTree, title: 'Mine' };
    if ((await carryOut(merge, into, sequence + 2)).merged) {
      // A server that was never killed has nobody come between.
      if (place.file('between.js') === null) place.bring({ 'between.js': 'between\n' });
      return true;
    }
  }
  return false;
}

async function refusesWhatIsNotOwn(folder: string): Promise<boolean> {
  const place = new Place(path.join(folder, 'asserted'));
  const begun = await place.begin();
  const tools = place.tools(null);
  place.bring({ 'theirs.js': 'theirs\n' });
  const wanted = { ...RUN, ...begun, baseBranch: 'main', planPath: PLAN_PATH };
  const taken = await integrate(tools).perform(wanted, contextOf('integrate', 10));
  if (!taken.moved) return false;
  const head = await place.commit(tools, taken.commit, 'report', { 'theirs.js': null });
  const codeTree = await place.codeTree(head);
  const into = { ...RUN, head, baseCommit: taken.baseCommit, baseBranch: 'main', codeTree, title: 'Mine' };
  await merge(tools)
    .perform({ ...into, strategy: 'squash' }, contextOf('merge', 20))
    .catch(() => undefined);
  return place.file('theirs.js') !== null;
}

function contextOf(activity: string, sequence: number): ActivityContext {
  const signal = new AbortController().signal;
  // The other fields of a context are for agents.
  return {
    key: `${RUN.runId}/${sequence}/${activity}`,
    runId: RUN.runId,
    activity,
    startedAt: AT,
    signal,
  } as ActivityContext;
}

function git(folder: string, ...args: readonly string[]): string {
  const env = { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

async function inFolder(check: (folder: string) => Promise<boolean>): Promise<boolean> {
  const folder = mkdtempSync(path.join(tmpdir(), 'git-check-'));
  try {
    return await check(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
