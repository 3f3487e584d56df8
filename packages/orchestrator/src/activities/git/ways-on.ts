/** Ways on from a publication that a remote or a conflict stops: what a person may choose at the pause. */
import { NeedsHuman, type WayOn } from '@autonomous/shared';
import { parseRemoteAddress } from '../../repository/remote-url.ts';
import { WAYS } from './ways.ts';

/** A base that takes no push from this server: the run's branch is on the remote already. */
export function refusedBase(
  error: NeedsHuman,
  {
    repository,
    branch,
    baseBranch,
  }: { readonly repository: string; readonly branch: string; readonly baseBranch: string },
): NeedsHuman {
  const url = pullRequestUrl(repository, baseBranch, branch);
  const note = `The remote refused the push to ${baseBranch}; merge the branch there.`;
  const own = `git fetch origin && git switch ${baseBranch} && git merge --ff-only origin/${baseBranch} && git merge origin/${branch} && git push origin ${baseBranch}`;
  const message = `Nothing was merged into ${baseBranch}. ${error.message}. Where you may push there yourself: ${own}; then leave the result as its branch.`;
  return new NeedsHuman('push_rejected', message, {
    cause: error,
    ways: [
      ...(url === null
        ? []
        : [
            {
              way: WAYS.pullRequest,
              text: `Open a pull request: the run completes with a link that opens it`,
              note: `Open the pull request: ${url}`,
            },
          ]),
      { way: WAYS.leavePushed, text: `Leave it as the branch ${branch}: the run completes without a merge`, note },
    ],
  });
}

/** A conflict of the run with its base. */
export function conflictWithBase(
  { branch, baseBranch }: { readonly branch: string; readonly baseBranch: string },
  conflicts: readonly string[],
): NeedsHuman {
  const own = `Resolve it yourself: git fetch, git switch ${branch}, git merge origin/${baseBranch}, commit, git push. Then choose to take it in.`;
  return new NeedsHuman(
    'merge_conflict',
    `The run and ${baseBranch} changed the same lines of ${conflicts.join(', ')}. Nothing was merged. ${own}`,
    {
      ways: [
        {
          way: WAYS.resolveBase,
          text: `Have the agent merge ${baseBranch} in and resolve the conflicts; everything is checked again`,
        },
        { way: WAYS.takeIn, text: `Take in what was pushed to ${branch}, and check it again` },
        {
          way: WAYS.leaveBranch,
          text: `Leave it as the branch ${branch}: it is pushed, and the run completes without a merge`,
          note: `It conflicts with ${baseBranch} in ${conflicts.join(', ')}; merge it by hand.`,
        },
      ],
    },
  );
}

/**
 * The base is gone or was rewritten: what was made is kept.
 * @param pushed what is pushed, in words
 * @param note for the one who merges the branch
 */
export function withoutBase({ branch }: { readonly branch: string }, pushed: string, note: string): WayOn {
  const text = `Leave it as the branch ${branch}: it is pushed ${pushed}, and the run completes without a merge`;
  return { way: WAYS.leaveBranch, text, note };
}

/** Commits on the run's own branch that the run did not make. */
export function othersOnBranch(branch: string, there: string | null): NeedsHuman {
  // The text names the commit, so that an answer to an older question chooses nothing.
  const takeIn: WayOn =
    there === null
      ? { way: WAYS.takeIn, text: `Take in what was pushed to ${branch}, and check it again` }
      : {
          way: WAYS.takeIn,
          text: `Take in commit ${there.slice(0, 10)}, which was pushed to ${branch}, and check it again`,
          commit: there,
        };
  return new NeedsHuman(
    'push_rejected',
    `The remote branch ${branch} is at ${there ?? 'no commit'}, which this run is not known to have pushed. Move it out of the way, then retry.${there === null ? '' : ` In a clone: ${moveAway(branch, there)}`}`,
    {
      ways: [
        takeIn,
        { way: WAYS.pushBeside, text: `Leave that branch alone, and push this run's commits to ${besideOf(branch)}` },
      ],
    },
  );
}

/** Commands that keep the commits of others under another name. */
function moveAway(branch: string, there: string): string {
  return [
    `git fetch origin ${branch}`,
    `git push origin ${there}:refs/heads/${branch}-others`,
    `git push --force-with-lease=${branch}:${there} origin :${branch}`,
  ].join(' && ');
}

/** Files of a conflict that an agent has not resolved. */
export function stillInConflict(paths: readonly string[]): NeedsHuman {
  return new NeedsHuman(
    'merge_conflict',
    `Conflict markers are left in ${paths.join(', ')}. Nothing of it was committed.`,
    { ways: [{ way: WAYS.resolveRest, text: 'Have the agent try again' } satisfies WayOn] },
  );
}

/** Name of the branch for a run whose own branch others use. */
export function besideOf(branch: string): string {
  return `${branch}-beside`;
}

/** The page of the forge on which a pull request is opened; `null` where the forge is not known by its host. */
export function pullRequestUrl(repository: string, baseBranch: string, branch: string): string | null {
  const place = forgeOf(repository);
  if (place === null) return null;
  const { host, path } = place;
  const [base, head] = [baseBranch, branch].map((name) => name.split('/').map(encodeURIComponent).join('/'));
  if (host === 'github.com') return `https://${host}/${path}/compare/${base}...${head}?expand=1`;
  if (host !== 'gitlab.com') return null;
  const query = new URLSearchParams({
    'merge_request[source_branch]': branch,
    'merge_request[target_branch]': baseBranch,
  });
  return `https://${host}/${path}/-/merge_requests/new?${query.toString()}`;
}

function forgeOf(repository: string): { readonly host: string; readonly path: string } | null {
  const address = parseRemoteAddress(repository);
  if (address.kind === 'local') return null;
  const { url } = address;
  const parsed = url.includes('://') ? url : `ssh://${url.replace(':', '/')}`;
  const { hostname, pathname } = new URL(parsed);
  const path = pathname
    .split('/')
    .filter((part) => part !== '')
    .join('/')
    .replace(/\.git$/, '');
  return path === '' ? null : { host: hostname, path };
}
