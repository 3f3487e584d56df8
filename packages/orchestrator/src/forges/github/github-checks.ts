/** Checks of a commit at GitHub: check runs of Apps and actions, and statuses of other services. */
import type { CheckResult, RepositoryName } from '../forge.ts';
import { clip } from './bodies.ts';
import { type Caller, readPages } from './github-client.ts';

export async function readChecks(
  caller: Caller,
  name: RepositoryName,
  commit: string,
): Promise<readonly CheckResult[]> {
  const place = { owner: name.owner, repo: name.name, ref: commit };
  return caller.do(`read the checks of ${commit.slice(0, 8)}`, async () => {
    const runs = await readPages(async (page) => {
      const asked = { ...place, filter: 'latest' as const, ...page, ...caller.settings };
      const { data, headers } = await caller.client.rest.checks.listForRef(asked);
      return { items: data.check_runs, link: headers.link };
    });
    const statuses = await readPages(async (page) => {
      const asked = { ...place, ...page, ...caller.settings };
      const { data, headers } = await caller.client.rest.repos.getCombinedStatusForRef(asked);
      return { items: data.statuses, link: headers.link };
    });
    return [
      ...runs.items.map((run): CheckResult => {
        const { title, summary } = run.output;
        return {
          name: run.name,
          by: run.app?.slug ?? null,
          state: run.status === 'completed' ? stateOf(run.conclusion) : 'pending',
          conclusion: run.conclusion,
          url: run.details_url ?? run.html_url,
          summary: clip([title, summary].filter((each) => each !== null && each !== '').join('\n\n')).text,
        };
      }),
      ...statuses.items.map(({ context, state, target_url: url, description }): CheckResult => ({
        name: context,
        by: null,
        state: state === 'pending' ? 'pending' : stateOf(state),
        conclusion: state === 'pending' ? null : state,
        url,
        summary: clip(description ?? '').text,
      })),
    ];
  });
}

function stateOf(conclusion: string | null): CheckResult['state'] {
  if (conclusion === 'success' || conclusion === 'neutral') return 'passed';
  return conclusion === 'skipped' ? 'skipped' : 'failed';
}
