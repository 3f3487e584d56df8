import { expect, it } from 'vitest';
import { withStrategy } from './setup.ts';

type Arguments = Parameters<typeof withStrategy>;

it.each([
  ['squash', 'the input asks for it', { commits: 'squash' as const }],
  ['squash', "the project's committed configuration says so", { named: 'squash' as const }],
  ['squash', 'the request says so against the project', { requested: 'squash' as const, named: 'merge' as const }],
  ['merge', 'the request says so against the input', { requested: 'merge' as const, commits: 'squash' as const }],
  ['squash', 'the input says so against the project', { commits: 'squash' as const, named: 'merge' as const }],
  ['merge', 'nobody says anything, so that each phase keeps its commit', {}],
] as const)(
  'a plan is merged as %s where %s',
  (strategy, _, said: { commits?: 'squash'; requested?: string; named?: string }) => {
    const context = {
      requestedConfig: said.requested === undefined ? {} : { git: { mergeStrategy: said.requested } },
      input: { commits: said.commits ?? 'phase' },
    };
    const prepared = { config: { git: { mergeStrategy: 'ff', baseBranch: 'main' } }, namedMergeStrategy: said.named };
    // Only what decides it.
    const { git } = withStrategy(context as unknown as Arguments[0], prepared as unknown as Arguments[1]);
    expect(git).toEqual({ mergeStrategy: strategy, baseBranch: 'main' });
  },
);
