/** The build workflow's activities as the simulated outside does them: all its ways are taken by chance. */
import type { JsonValue, RunConfig } from '@autonomous/shared';
import { ONE_TRY, THREE_TRIES } from '../src/core/activity.ts';
import { aConfig, aQuestion, outputs } from '../src/workflows/build/build.fixture.ts';
import type { BuildActivities } from '../src/workflows/build/types.ts';
import type { Random } from './random.ts';
import type { SimulatedActivity } from './world.ts';

/** A configuration that leads through other states than the last one. */
export function aBuildConfig(random: Random): RunConfig {
  const trust = () => (random.chance(0.6) ? ('auto' as const) : ('manual' as const));
  return {
    ...aConfig,
    trustMode: { planning: trust(), implementation: trust(), fixes: trust() },
    maxClarifications: random.below(3),
    maxFixAttempts: random.below(3),
    git: { ...aConfig.git, autoMerge: random.chance(0.6), createPR: random.chance(0.1) },
  };
}

const hash = (random: Random, of: string) => `${of}-${random.below(1_000_000)}`;

/** A commit that names its code tree, as every commit does. */
const commit = (random: Random, codeTree: string) => `${hash(random, 'c')}~${codeTree}`;
const codeTreeOf = (name: JsonValue | undefined) => String(name).split('~')[1] ?? 't-base';

export const buildActivities: Readonly<Record<keyof BuildActivities, SimulatedActivity>> = {
  prepare: {
    kind: 'look',
    retry: THREE_TRIES,
    output: (input, random) => ({
      ...outputs.prepare(input['requestedConfig'] as unknown as RunConfig),
      setup: random.chance(0.3) ? { command: 'npm ci', source: 'package.json' } : null,
      test: random.chance(0.1) ? null : { command: 'npm test', source: 'package.json' },
    }),
  },
  plan: {
    kind: 'call',
    retry: ONE_TRY,
    output: (_input, random, isCalm) => {
      if (isCalm || random.chance(0.7)) return outputs.planner;
      return random.chance(0.5) ? outputs.plannerAsks : outputs.plannerFails;
    },
  },
  commitPlan: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (_input, random) => ({
      ...outputs.commitPlan,
      artifactHash: hash(random, 'plan'),
      commit: commit(random, 't-plan'),
    }),
  },
  revisePlan: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (_input, random, isCalm) =>
      isCalm || random.chance(0.7)
        ? {
            ok: true,
            plan: { ...outputs.commitPlan, artifactHash: hash(random, 'plan'), commit: commit(random, 't-plan') },
          }
        : { ok: false, message: 'line 3: unexpected token' },
  },
  replyToPerson: { kind: 'call', retry: ONE_TRY, output: () => ({ reply: 'Because.', cost: outputs.planner.cost }) },
  pushBranch: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (input) => ({ commit: String(input['commit']), pushed: true }),
  },
  setUp: { kind: 'look', retry: THREE_TRIES, output: () => ({ ran: true }) },
  implement: {
    kind: 'call',
    retry: ONE_TRY,
    output: (_input, random, isCalm) =>
      isCalm || random.chance(0.8)
        ? { ...outputs.implementer, tree: hash(random, 'tree') }
        : { ...outputs.implementerAsks, question: aQuestion, tree: hash(random, 'tree') },
  },
  commitCode: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (input, random) => ({
      ...outputs.commitCode,
      commit: commit(random, String(input['tree'])),
      codeTree: String(input['tree']),
    }),
  },
  takeFiles: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (_input, random) => ({
      ...outputs.takeFiles,
      commit: commit(random, 'taken'),
      codeTree: hash(random, 'tree'),
    }),
  },
  takeIn: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (input, random) => {
      const codeTree = hash(random, 'tree');
      const { baseCommit, planPath } = input;
      return {
        commit: commit(random, codeTree),
        codeTree,
        baseCommit: baseCommit ?? '',
        planPath: planPath ?? '',
        conflicts: [],
      };
    },
  },
  checkpoint: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (input, random) =>
      random.chance(0.5) ? outputs.nothingLeft : { commit: commit(random, codeTreeOf(input['head'])), refused: [] },
  },
  baseline: {
    kind: 'look',
    retry: THREE_TRIES,
    output: (_input, random) => (random.chance(0.2) ? null : { ...outputs.baseline, passed: random.chance(0.8) }),
  },
  check: {
    kind: 'look',
    retry: THREE_TRIES,
    output: (input, random, isCalm) => ({
      ...outputs.check(input['mode'] as 'as_is' | 'base_tests', isCalm || random.chance(0.85)),
      commit: String(input['commit']),
      codeTree: codeTreeOf(input['commit']),
    }),
  },
  review: {
    kind: 'call',
    retry: ONE_TRY,
    output: (_input, random, isCalm) =>
      isCalm || random.chance(0.8)
        ? outputs.validator
        : { ...outputs.validator, verdict: 'fail', severity: random.pick(['minor', 'major']), feedback: 'No.' },
  },
  report: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (input, random) => ({
      ...outputs.report,
      hash: hash(random, 'report'),
      commit: commit(random, codeTreeOf(input['head'])),
    }),
  },
  integrate: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (_input, random, isCalm) => {
      if (isCalm || random.chance(0.75)) return { moved: false };
      const codeTree = hash(random, 't');
      const { path: planPath } = outputs.commitPlan;
      return { moved: true, baseCommit: hash(random, 'b'), commit: commit(random, codeTree), codeTree, planPath };
    },
  },
  copyRecord: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (input, random) => ({ ...outputs.copyRecord, commit: commit(random, codeTreeOf(input['head'])) }),
  },
  merge: {
    kind: 'effect',
    retry: THREE_TRIES,
    output: (_input, random, isCalm) =>
      isCalm || random.chance(0.8) ? { ...outputs.merge, commit: commit(random, 't-merged') } : { merged: false },
  },
  // The outside has no forge, so that no branch gets a pull request.
  followPullRequest: { kind: 'look', retry: THREE_TRIES, output: () => ({ kind: 'closed' }) },
  closePullRequest: { kind: 'effect', retry: THREE_TRIES, output: () => ({ kind: 'closed' }) },
  mergePullRequest: { kind: 'effect', retry: THREE_TRIES, output: () => ({ kind: 'closed' }) },
  answerReviewers: { kind: 'effect', retry: THREE_TRIES, output: () => ({ answered: 0 }) },
};
