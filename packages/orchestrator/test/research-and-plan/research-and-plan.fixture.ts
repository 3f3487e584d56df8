/** A server on which runs research one round and then plan. */
import type { RunConfigRequest, RunView } from '@autonomous/shared';
import type { Script } from '../../src/models/script.ts';
import { finish } from '../fixtures/orchestrator.fixture.ts';
import {
  aResearchServer,
  found,
  OLDEST,
  reads,
  report,
  type ResearchServer,
  synthesis,
} from '../research/research.fixture.ts';

type ScriptCall = NonNullable<Script['roles']['planner']>[number];

/** A proposal of an architect. */
export const draft = (change: object = {}): ScriptCall =>
  finish({ summary: 'As it should be.', answers: [], claims: [], ...change });

export const review = (change: object = {}): ScriptCall =>
  finish({ summary: 'Looked at it.', issues: [], withdrawn: [], ...change });

export const task = (id: string, change: object = {}) => ({
  id,
  title: `Task ${id}`,
  description: 'What has to be done [F1].',
  component: null,
  dependencies: [],
  acceptanceCriteria: ['It rings.'],
  ...change,
});

export const STRUCTURE = {
  vision: 'The oldest bell rings again [F1].',
  architecture: 'A frame and a motor.',
  components: [
    { name: 'Frame', purpose: 'Holds the bell.', interfaces: 'Bolts.', approach: 'Steel.', dependencies: [] },
    { name: 'Motor', purpose: 'Swings it.', interfaces: 'A belt.', approach: 'Electric.', dependencies: ['Frame'] },
  ],
  technologyStack: 'Steel and copper.',
};

export const WAY = {
  tasks: [task('motor', { component: 'Motor', dependencies: ['frame'] }), task('frame', { component: 'Frame' })],
  risks: [{ risk: 'It cracks.', likelihood: 'low', impact: 'high', mitigation: 'Ring it softly.' }],
  defensibility: 'There is no older bell [F1].',
  openDecisions: [{ decision: 'Who rings it?', detail: 'The keeper or a clock.' }],
};

export const blocker = (text = 'The frame does not bear the weight.', evidence: readonly string[] = ['F1']) => ({
  severity: 'blocker',
  about: 'Frame',
  text,
  evidence,
  proposal: 'A stronger frame.',
});

/** The research of one round with one finding, F1. */
const researched = (web: string) => ({
  synthesiser: [
    synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
    synthesis({
      themes: [{ id: null, title: 'Age', text: 'It dates from 1288 [F1].', findings: ['F1'] }],
      analysis: 'It is old [F1].',
    }),
  ],
  researcher: [
    reads(
      [`${web}/oldest`],
      report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
    ),
  ],
});

interface Planners {
  readonly architects: readonly ScriptCall[];
  readonly critics: readonly ScriptCall[];
  /** Researchers of new claims. */
  readonly researchers?: readonly ScriptCall[];
}

export interface PlanServer extends Omit<ResearchServer, 'begin'> {
  plan(input?: object, config?: RunConfigRequest): Promise<RunView>;
}

/** Script of a run that ends after two rounds of planning. */
export const planScript = (web: string): Script => ({
  name: 'test',
  roles: {
    ...researched(web),
    'plan-architect': [draft(STRUCTURE), draft(WAY), draft(), draft()],
    'plan-critic': [review(), review(), review(), review()],
  },
});

/** Calls of a role are played in the order in which its agents start: the first seat, then the second one. */
export async function aPlanServer(planners: (web: string) => Planners): Promise<PlanServer> {
  const server = await aResearchServer((web) => {
    const { architects, critics, researchers = [] } = planners(web);
    const research = researched(web);
    return {
      ...research,
      researcher: [...research.researcher, ...researchers],
      'plan-architect': [...architects],
      'plan-critic': [...critics],
    };
  });
  return {
    ...server,
    plan: (input = {}, config = {}) =>
      server.client.launchRun({
        projectId: server.project.id,
        workflow: 'research-and-plan',
        request: 'Ring the oldest bell of the town again.',
        input: { topic: 'Bells', researchers: 1, analysts: 0, researchRounds: 1, ...input },
        config,
      }),
  };
}
