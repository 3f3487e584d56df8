/** Changes to the remote by others, made between the kill of one server and the start of the next. */
import { commitAsColleague } from './place.ts';
import { git } from './repository-state.ts';
import { RECORD_BRANCH } from './waits.ts';

export interface OutsideMove {
  /** Short: it stands in the names of points, after `~`. */
  readonly name: string;
  readonly about: string;
  /** Boundaries after which it can matter. */
  readonly after: RegExp;
  make(remote: string): Promise<void>;
  /** Removes the obstacle, as a person does before they retry a run that is paused for it. */
  remedy?(remote: string): Promise<void>;
}

/** Files of another run that is merged meanwhile. */
const BROUGHT = {
  'between.txt': 'between\n',
  '.autonomous/specs/001-between.md': '# Between\n',
  '.autonomous/specs/002-between.md': '# Between, too\n',
  '.autonomous/runs/merged-meanwhile/context.json': '{}\n',
} as const;
/** Line of the memory file that must stay when the run adds to the file. */
export const REMEMBERED = 'Merged in between.';
export const IN_THE_RECORD = 'of-another-server.txt';

const STRANGER = 'Pushed by somebody';
/** Boundaries of a run's git operations from its first commit on. */
const IN_GIT =
  /(?:^|\/)(?!api\b|prepare\b|append\b|start\b)[\w-]+\.(?:commit|push|fetch|perform|record)\.(?:before|after)/;
/** From the first push on the run's branch is on the remote. */
const AFTER_A_PUSH =
  /(?:^|\/)(?:commitCode|report|integrate|copyRecord|pushBranch|merge)\.(?:commit|push)\.(?:before|after)/;
const OF_THE_RECORD = /^recorder\.record\./;

export const OUTSIDE_MOVES: readonly OutsideMove[] = [
  {
    name: 'base',
    about: 'another run is merged into the base branch, with plans of the same numbers',
    after: IN_GIT,
    make: (remote) =>
      commitAsColleague(remote, 'Merged in between', {
        ...BROUGHT,
        '.autonomous/memory.md': `# Memory\n\n${REMEMBERED}\n`,
      }),
  },
  {
    name: 'branch-gone',
    about: "the run's branch is deleted",
    after: AFTER_A_PUSH,
    make: (remote) => deleteBranches(remote),
  },
  {
    name: 'branch-taken',
    about: "somebody pushes to the run's branch; a person moves that out of the way and retries",
    after: AFTER_A_PUSH,
    async make(remote) {
      for (const branch of await runBranches(remote)) await commitEmpty(remote, branch);
    },
    remedy: (remote) => deleteBranches(remote),
  },
  {
    name: 'record-gone',
    about: 'the branch of the record is deleted',
    after: OF_THE_RECORD,
    make: (remote) => deleteBranch(remote, RECORD_BRANCH),
  },
  {
    name: 'record-taken',
    about: 'another server writes to the record',
    after: OF_THE_RECORD,
    make: (remote) =>
      commitAsColleague(remote, 'Record of another server', { [IN_THE_RECORD]: 'theirs\n' }, RECORD_BRANCH),
  },
];

async function runBranches(remote: string): Promise<readonly string[]> {
  const refs = await git(remote, ['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/autonomous']);
  return refs
    .toString('utf8')
    .split('\n')
    .filter((branch) => branch !== '' && branch !== RECORD_BRANCH);
}

async function deleteBranches(remote: string): Promise<void> {
  for (const branch of await runBranches(remote)) await deleteBranch(remote, branch);
}

async function deleteBranch(remote: string, branch: string): Promise<void> {
  await git(remote, ['update-ref', '-d', `refs/heads/${branch}`]);
}

async function commitEmpty(remote: string, branch: string): Promise<void> {
  const person = { NAME: 'Somebody', EMAIL: 'somebody@example.com' };
  const env = Object.fromEntries(
    Object.entries(person).flatMap(([field, value]) => [
      [`GIT_AUTHOR_${field}`, value],
      [`GIT_COMMITTER_${field}`, value],
    ]),
  );
  const made = await git(remote, ['commit-tree', `${branch}^{tree}`, '-p', branch, '-m', STRANGER], env);
  await git(remote, ['update-ref', `refs/heads/${branch}`, made.toString('utf8').trim()]);
}
