import type { Project, RoadmapContent, RunView, WorkflowEvent } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { type ItemAtWork, RoadmapBoards, type RoadmapBoardsOptions, type RoadmapReader } from './roadmap-boards.ts';

const PROJECT: Project = { id: 'p-1', name: 'demo', repository: '/srv/demo', baseBranch: 'main', createdAt: NOON };
const COMMIT = 'a'.repeat(40);
const READ: RoadmapContent = { kind: 'faulty', total: 0, faults: [] };
/** What the reader was given of items at work. */
let atWork: readonly ItemAtWork[] = [];
const reader: RoadmapReader = {
  path: 'roadmap/roadmap.json',
  workflow: 'roadmap-item',
  async read(_text, given) {
    atWork = given;
    return READ;
  },
};

interface Around {
  readonly file?: string | null;
  readonly head?: string | null;
  readonly fetch?: () => Promise<void>;
  /** First events of live runs, by run. */
  readonly views?: Readonly<Record<string, Partial<RunView>>>;
  readonly starts?: Readonly<Record<string, readonly [type: string, payload: object]>>;
}

/** Boards of a repository and a store that answer from samples. */
function boards({ file = '{}', head = COMMIT, fetch = async () => {}, starts = {}, views = {} }: Around = {}) {
  const asked: object[] = [];
  const options: RoadmapBoardsOptions = {
    reader,
    projects: { of: async () => PROJECT },
    fetches: { fetch },
    repository: {
      inspectRemote: async () => ({ baseBranch: 'main', notices: [] }),
      remoteHead: async () => head,
      branchHead: async (_project, branch) => `head of ${branch}`,
      readFile: async (_project, treeish, path) => {
        if (path !== reader.path) return null;
        return treeish === COMMIT ? file : `roadmap at the ${treeish}`;
      },
    },
    store: {
      async listRuns(filter) {
        asked.push(filter);
        return {
          items: Object.keys(starts).map((id) => aView(id, { status: 'running', ...views[id] })),
          nextCursor: null,
        };
      },
      async readHistory(runId) {
        const [type, payload] = starts[runId] ?? ['', {}];
        // Only type and payload of the first event are read.
        return [{ type, payload } as WorkflowEvent];
      },
    },
  };
  const made = new RoadmapBoards(options);
  return { read: () => made.read('p-1'), asked };
}

it('reads the file at the head of the base branch', async () => {
  expect(await boards().read()).toEqual({
    projectId: 'p-1',
    path: 'roadmap/roadmap.json',
    branch: 'main',
    commit: COMMIT,
    notFetched: null,
    workflow: 'roadmap-item',
    content: READ,
    runs: [],
  });
});

it('says that there is no roadmap where the branch does not have the file', async () => {
  expect((await boards({ file: null }).read()).content).toEqual({ kind: 'absent' });
});

it('names the live runs that were launched with an item of this roadmap', async () => {
  const { read, asked } = boards({
    starts: {
      'r-1': ['RUN_STARTED', { input: { item: 'sign-in', roadmap: 'roadmap/roadmap.json', approvals: 'all' } }],
      'r-2': ['RUN_QUEUED', { position: 1, start: { input: { item: 'search' } } }],
      'r-3': ['RUN_STARTED', { input: { item: 'export', roadmap: 'other.json' } }],
      'r-4': ['RUN_STARTED', { input: { item: 7 } }],
      'r-5': ['RUN_STARTED', {}],
      'r-6': ['ERASED', { item: 'search' }],
    },
  });
  expect((await read()).runs).toEqual([
    { item: 'sign-in', runId: 'r-1', status: 'running' },
    { item: 'search', runId: 'r-2', status: 'running' },
  ]);
  expect(asked).toEqual([{ projectId: 'p-1', workflow: 'roadmap-item', open: true, limit: 200 }]);
});

it('names the newest live run of an item, with the roadmap on its branch where it does not write to the base', async () => {
  const owned = { paths: [reader.path], to: 'branch' as const, refused: true as const };
  const { read } = boards({
    starts: {
      'r-3': ['RUN_STARTED', { input: { item: 'a' } }],
      'r-2': ['RUN_STARTED', { input: { item: 'a' } }],
      'r-1': ['RUN_STARTED', { input: { item: 'b' } }],
    },
    views: {
      'r-3': { branch: 'autonomous/r-3', ownedFiles: { ...owned, commit: COMMIT } },
      'r-1': { ownedFiles: owned },
    },
  });
  expect((await read()).runs.map(({ runId }) => runId)).toEqual(['r-3', 'r-1']);
  expect(atWork.map(({ item, roadmap }) => [item, roadmap])).toEqual([
    ['a', 'roadmap at the head of autonomous/r-3'],
    ['b', null],
  ]);
});

it('shows the last fetch and the reason when the remote cannot be asked', async () => {
  const { read } = boards({ fetch: async () => Promise.reject(new Error('The remote is away.')) });
  expect(await read()).toMatchObject({ notFetched: 'The remote is away.', content: READ });
});

it('refuses a base branch that was never fetched', async () => {
  await expect(boards({ head: null }).read()).rejects.toThrow("The branch 'main' of /srv/demo could not be fetched.");
});
