/** A project with a roadmap on a real server with real git, and agents that carry one of its items out. */
import type { Gate, RunConfigRequest, RunView } from '@autonomous/shared';
import {
  aPlan,
  aScript,
  aServer,
  type Files,
  FILES,
  finish,
  type Fixture,
  type FixtureOptions,
  when,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

export const ITEM = {
  id: 'sign-in',
  title: 'Sign in by a link',
  type: 'feature',
  moscow: 'must-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'now',
  dependencies: [],
  owner: 'me',
};
export const OTHER = { ...ITEM, id: 'search', title: 'Search', moscow: 'should-have' };

export const roadmap = (...items: readonly object[]): string =>
  `${JSON.stringify({ projectName: 'Shop', items }, null, 2)}\n`;

export const PROJECT: Files = { ...FILES, 'roadmap/roadmap.json': roadmap(ITEM, OTHER) };

export const TASKS = [
  { id: 'T1', title: 'A link', description: 'Write link.sh.', dependsOn: [] },
  { id: 'T2', title: 'A mail', description: 'Write mail.sh.', dependsOn: ['T1'] },
];

export const noBugs = finish({ summary: 'Nothing was found.', bugs: [] });

export const ROLES = {
  ideator: [finish({ document: '# Problem\n\nNobody can sign in.' })],
  specifier: [finish({ document: '# Overview\n\nA link is sent.' })],
  decomposer: [finish({ tasks: TASKS })],
  'item-reviewer': Array.from({ length: 6 }, () => noBugs),
  planner: Array.from({ length: 8 }, () => aPlan()),
  implementer: [
    when('T2: A mail', writes({ 'mail.sh': 'sh link.sh\n' })),
    when('T1: A link', writes({ 'link.sh': 'echo link\n', 'roadmap/roadmap.json': 'all done, I say\n' })),
  ],
};

export type Item = typeof ITEM & { workflowState: Record<string, unknown>; [name: string]: unknown };

export interface RoadmapServer extends Fixture {
  begin(input?: object, config?: RunConfigRequest): Promise<RunView>;
  items(branch?: string): Promise<readonly Item[]>;
  item(id?: string): Promise<Item>;
  /** Approves what the gate shows. */
  approve(run: RunView, gate: string): Promise<Gate>;
}

/** @param options by default the project has two items, none of which is begun */
export async function aRoadmap(
  roles: object = {},
  options: Pick<FixtureOptions, 'files' | 'env'> = {},
): Promise<RoadmapServer> {
  const server = await aServer({ files: PROJECT, script: aScript({ ...ROLES, ...roles }), ...options });
  const items = async (branch = 'main'): Promise<readonly Item[]> =>
    (JSON.parse((await server.file(branch, 'roadmap/roadmap.json')) ?? '{}') as { items: Item[] }).items;
  return {
    ...server,
    items,
    item: async (id = 'sign-in') => {
      const found = (await items()).find((each) => each.id === id);
      if (found === undefined) throw new Error(`no item ${id}`);
      return found;
    },
    begin: (input = {}, config = {}) =>
      server.client.launchRun({
        projectId: server.project.id,
        workflow: 'roadmap-item',
        request: 'Carry out sign-in',
        input: { item: 'sign-in', ...input },
        config,
      }),
    async approve(run, kind) {
      const { gate } = await server.until(run, { gate: kind });
      if (gate === null) throw new Error('no gate');
      const { artifactHash, codeTree, concernsHash } = gate;
      await server.decide(run, {
        decision: 'approve',
        ...(artifactHash === undefined ? {} : { artifactHash }),
        ...(codeTree === undefined ? {} : { codeTree }),
        ...(concernsHash === undefined ? {} : { concernsHash }),
      });
      return gate;
    },
  };
}

/** An item of one task. */
export const aShortRoadmap = (roles: object = {}, options: Pick<FixtureOptions, 'env'> = {}): Promise<RoadmapServer> =>
  aRoadmap({ decomposer: [finish({ tasks: TASKS.slice(0, 1) })], ...roles }, options);

/** Merges the result into the base without asking. */
export const merging = { git: { autoMerge: true } };

/** The item's state in the roadmap of the base. */
export async function stateOf(server: RoadmapServer): Promise<Record<string, unknown>> {
  return (await server.item()).workflowState;
}
