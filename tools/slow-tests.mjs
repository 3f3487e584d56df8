/**
 * Test files that take long, with the seconds of one worker on a busy machine of two cores: real servers, repositories and
 * sandboxes. `npm test` runs all of them; `npm test -- --sample SEED` (`.ci/run`) all other tests and some of these.
 */
import { createHash } from 'node:crypto';

/** Seconds of one worker that a sample takes. */
const SAMPLE_SECONDS = 900;

/** Seconds by path from the root of the workspace. */
export const SLOW_TESTS = {
  'packages/orchestrator/bench/bench.test.ts': 145,
  'packages/orchestrator/crash/crash-sweep.test.ts': 265,
  'packages/orchestrator/real-repositories/real-repositories.test.ts': 29,
  'packages/orchestrator/simulation/planted-bugs.test.ts': 127,
  'packages/orchestrator/src/activities/git/commit-owned-files.test.ts': 33,
  'packages/orchestrator/src/activities/compile-latex.test.ts': 90,
  'packages/orchestrator/src/activities/work-folders.test.ts': 45,
  'packages/orchestrator/src/agents/acp/acp.test.ts': 256,
  'packages/orchestrator/src/agents/tool-loop/wire-formats.test.ts': 171,
  'packages/orchestrator/src/documents/plans/mermaid.test.ts': 25,
  'packages/orchestrator/src/project-analysis/installation/python-setup.test.ts': 70,
  'packages/orchestrator/src/cli/doctor-project.test.ts': 31,
  'packages/orchestrator/src/cli/doctor.test.ts': 50,
  'packages/orchestrator/src/cli/init.test.ts': 25,
  'packages/orchestrator/src/cli/integrity.test.ts': 45,
  'packages/orchestrator/src/cli/program.test.ts': 121,
  'packages/orchestrator/src/cli/refused-runs.test.ts': 40,
  'packages/orchestrator/src/cli/serve.test.ts': 53,
  'packages/orchestrator/src/upkeep/merge-radar.test.ts': 26,
  'packages/orchestrator/src/event-store/sqlite/integrity/verify-database.test.ts': 25,
  'packages/orchestrator/src/event-store/sqlite/sqlite-event-store.nearest.test.ts': 33,
  'packages/orchestrator/src/event-store/sqlite/sqlite-event-store.thread.test.ts': 34,
  'packages/orchestrator/src/repository/folder-import.test.ts': 90,
  'packages/orchestrator/src/repository/git-repository.contract.test.ts': 70,
  'packages/orchestrator/src/sandboxes/bubblewrap/bubblewrap.test.ts': 99,
  'packages/orchestrator/src/sandboxes/e2b/e2b.test.ts': 115,
  'packages/orchestrator/src/sandboxes/hostile-commands.test.ts': 86,
  'packages/orchestrator/src/server-setup/local-agents.test.ts': 27,
  'packages/orchestrator/src/server/run-pull-requests.test.ts': 28,
  'packages/orchestrator/src/workflows/build/activities/publishing.test.ts': 49,
  'packages/orchestrator/test/backlog-run.test.ts': 45,
  'packages/orchestrator/test/backlog.test.ts': 110,
  'packages/orchestrator/test/budgets.test.ts': 129,
  'packages/orchestrator/test/build-agents.test.ts': 52,
  'packages/orchestrator/test/build-approvals.test.ts': 63,
  'packages/orchestrator/test/build-base-moved.test.ts': 73,
  'packages/orchestrator/test/build-cancel.test.ts': 30,
  'packages/orchestrator/test/build-concerns.test.ts': 184,
  'packages/orchestrator/test/build-context.test.ts': 48,
  'packages/orchestrator/test/build-dependencies.test.ts': 140,
  'packages/orchestrator/test/build-evidence.test.ts': 153,
  'packages/orchestrator/test/build-gaming.test.ts': 73,
  'packages/orchestrator/test/build-import.test.ts': 45,
  'packages/orchestrator/test/build-manifests.test.ts': 40,
  'packages/orchestrator/test/build-pauses.test.ts': 71,
  'packages/orchestrator/test/build-preflight.test.ts': 36,
  'packages/orchestrator/test/build-questions.test.ts': 40,
  'packages/orchestrator/test/build-red-before.test.ts': 84,
  'packages/orchestrator/test/build-review-comments.test.ts': 44,
  'packages/orchestrator/test/build-review.test.ts': 59,
  'packages/orchestrator/test/build-secrets.test.ts': 97,
  'packages/orchestrator/test/build-setup.test.ts': 55,
  'packages/orchestrator/test/build-shown.test.ts': 36,
  'packages/orchestrator/test/build-taken-files.test.ts': 67,
  'packages/orchestrator/test/build-ways-on.test.ts': 29,
  'packages/orchestrator/test/cassettes.test.ts': 94,
  'packages/orchestrator/test/clean-branches.test.ts': 29,
  'packages/orchestrator/test/crash.test.ts': 250,
  'packages/orchestrator/test/custom-workflow.test.ts': 75,
  'packages/orchestrator/test/e2b-runs.test.ts': 123,
  'packages/orchestrator/test/endless-tests.test.ts': 31,
  'packages/orchestrator/test/forge-changed-by-hand.test.ts': 150,
  'packages/orchestrator/test/forge-failures.test.ts': 110,
  'packages/orchestrator/test/forge-own-pull-request.test.ts': 70,
  'packages/orchestrator/test/forge-token.test.ts': 31,
  'packages/orchestrator/test/full-auto-killed.test.ts': 120,
  'packages/orchestrator/test/full-auto-research.test.ts': 48,
  'packages/orchestrator/test/full-auto.test.ts': 190,
  'packages/orchestrator/test/hostile-files.test.ts': 136,
  'packages/orchestrator/test/hostile-git.test.ts': 70,
  'packages/orchestrator/test/hostile-work.test.ts': 122,
  'packages/orchestrator/test/install-scripts.test.ts': 34,
  'packages/orchestrator/test/labelled-issues.test.ts': 45,
  'packages/orchestrator/test/lost-data-folder.test.ts': 28,
  'packages/orchestrator/test/merge-attribution.test.ts': 45,
  'packages/orchestrator/test/merge-radar.test.ts': 27,
  'packages/orchestrator/test/model-outage.test.ts': 27,
  'packages/orchestrator/test/own-repository.test.ts': 54,
  'packages/orchestrator/test/owned-files.test.ts': 27,
  'packages/orchestrator/test/phased-plan-liars.test.ts': 115,
  'packages/orchestrator/test/phased-plan-pull-request.test.ts': 60,
  'packages/orchestrator/test/phased-plan-ways-on.test.ts': 45,
  'packages/orchestrator/test/phased-plan.test.ts': 200,
  'packages/orchestrator/test/plan-phase.test.ts': 41,
  'packages/orchestrator/test/plan-run.test.ts': 60,
  'packages/orchestrator/test/providers.test.ts': 185,
  'packages/orchestrator/test/pull-request-followed.test.ts': 260,
  'packages/orchestrator/test/rebuild.test.ts': 120,
  'packages/orchestrator/test/repeated-requests.test.ts': 54,
  'packages/orchestrator/test/reporters-in-projects.test.ts': 28,
  'packages/orchestrator/test/research-and-plan-command.test.ts': 40,
  'packages/orchestrator/test/research-and-plan-killed.test.ts': 60,
  'packages/orchestrator/test/research-and-plan.test.ts': 120,
  'packages/orchestrator/test/research-providers.test.ts': 75,
  'packages/orchestrator/test/research-troubles.test.ts': 110,
  'packages/orchestrator/test/research-web.test.ts': 85,
  'packages/orchestrator/test/restores.test.ts': 88,
  'packages/orchestrator/test/roadmap-item-ends.test.ts': 110,
  'packages/orchestrator/test/roadmap-item-rules.test.ts': 150,
  'packages/orchestrator/test/roadmap-item.test.ts': 60,
  'packages/orchestrator/test/signed-in-browsers.test.ts': 44,
  'packages/orchestrator/test/steering.test.ts': 43,
  'packages/orchestrator/test/time-travel.test.ts': 49,
  'packages/orchestrator/test/two-changes.test.ts': 42,
  'packages/orchestrator/test/untrusted-record.test.ts': 90,
  'release/packages.test.ts': 150,
};

/** @returns the slow test files that a sample leaves out: with another seed, others */
export function leftOutBy(seed, seconds = SAMPLE_SECONDS) {
  const order = Object.keys(SLOW_TESTS).sort((a, b) => (placeOf(a, seed) < placeOf(b, seed) ? -1 : 1));
  let left = seconds;
  return order.filter((file) => {
    if (SLOW_TESTS[file] > left) return true;
    left -= SLOW_TESTS[file];
    return false;
  });
}

function placeOf(file, seed) {
  return createHash('sha256').update(`${seed}\n${file}`).digest('hex');
}
