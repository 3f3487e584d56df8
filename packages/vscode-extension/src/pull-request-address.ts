/** The parts of a pull request's web address. */
export interface PullRequestPlace {
  readonly owner: string;
  readonly repo: string;
  readonly pullRequestNumber: number;
}

/** @returns `null` for an address that is no pull request of github.com: GitHub's own extension opens those alone */
export function pullRequestAtGitHub(address: string): PullRequestPlace | null {
  const url = URL.parse(address);
  if (url?.origin !== 'https://github.com') return null;
  const [, owner, repo, number] =
    /^\/([A-Za-z0-9._-]{1,100})\/([A-Za-z0-9._-]{1,100})\/pull\/(\d{1,9})$/.exec(url.pathname) ?? [];
  return owner === undefined || repo === undefined ? null : { owner, repo, pullRequestNumber: Number(number) };
}
