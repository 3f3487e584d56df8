/** The data of a run that researches and plans: its input, its context, and what its activities take and give. All plain JSON. */
import { z } from 'zod';
import type { ChildMerged, MergeChildInput } from '../../activities/git/merge-child.ts';
import type { Cost, Note, RunHeader } from '../../activities/types.ts';
import type { CallingContext } from '../parts/costs.ts';
import type { FanOut } from '../parts/fan-out.ts';
import type { ProjectRunActivities, ProjectRunContext, ProjectRunInput } from '../parts/project-run.ts';
import { researchFields } from '../parts/topics/research-fields.ts';
import type {
  AgentReport,
  CheckedRound,
  CheckInput,
  Compiled,
  LeftOut,
  ResearchConfig,
  ResearchInput,
  ResearchRole,
} from '../research/types.ts';
import type { PlanData } from './output.ts';

export const planInputSchema = z.strictObject({
  ...researchFields,
  researchRounds: z.number().int().min(1).max(100).default(30).meta({
    title: 'Rounds of research',
    description: 'After so many rounds the planning begins in any case.',
  }),
  stableRounds: z.number().int().min(1).max(10).default(2).meta({
    title: 'Stable rounds',
    description: 'After so many rounds in a row without a blocker and without a change the plan is done.',
  }),
  maxRounds: z.number().int().min(1).max(100).default(40).meta({
    title: 'Rounds of planning',
    description: 'After so many rounds a person decides about the plan and its open blockers.',
  }),
});
export type PlanInputValues = z.infer<typeof planInputSchema>;

type PlanRole = ResearchRole | 'plan-architect' | 'plan-critic';

/** The configuration of a research run, with the models of the roles that plan. */
export type PlanConfig = ResearchConfig & {
  readonly modelRouting: Readonly<Record<PlanRole, string>>;
};

export type PlanRunInput = ProjectRunInput<PlanConfig>;

/** The plan while it is worked on. */
export type Plan = Omit<PlanData, 'topic' | 'date'>;
export type PlanSection = keyof Plan;

/** A statement about the world that the plan would rest on and that no finding supports. */
export type NewClaim = { readonly claim: string; readonly question: string };

/** Changes that an architect proposes: absent sections stay as they are. */
export type Draft = { readonly [Section in PlanSection]?: Plan[Section] | undefined } & {
  readonly summary: string;
  readonly answers: readonly { readonly issue: string; readonly answer: string }[];
  readonly claims: readonly NewClaim[];
  /** Sentences that name findings for what those do not say. Absent: there are none. */
  readonly miscited?: readonly Fault[];
};

export const SEVERITIES = ['blocker', 'concern', 'suggestion'] as const;
export type Severity = (typeof SEVERITIES)[number];

export type RaisedIssue = {
  readonly severity: Severity;
  /** Part of the plan that it is about, in a few words. */
  readonly about: string;
  readonly text: string;
  /** Ids of findings. */
  readonly evidence: readonly string[];
  readonly proposal: string;
};

/** An issue that its critic has not withdrawn. */
export type Issue = RaisedIssue & {
  /** `I1`, `I2`, … in the order in which they were raised. */
  readonly id: string;
  /** `critic-1` or `critic-2`. */
  readonly by: string;
  readonly round: number;
  /** The last answer of an architect; `null`: none yet. */
  readonly answer: { readonly by: string; readonly text: string; readonly round: number } | null;
};

export type Review = {
  readonly summary: string;
  readonly issues: readonly RaisedIssue[];
  readonly withdrawn: readonly { readonly issue: string; readonly why: string }[];
};

/** Something in the result of an agent that the server does not take. */
export type Fault = {
  /** Section of the plan for an architect, `issues` or `withdrawn` for a critic. */
  readonly section: string;
  /** Position of the issue or withdrawal in its list; `null` for a section as a whole. */
  readonly index: number | null;
  readonly reason: string;
};

/** A fault that stayed after it was sent back. */
export type Refused = Fault & { readonly agent: string };

/** A round of planning that is over. */
export type PlanRoundSummary = {
  readonly round: number;
  readonly planHash: string;
  readonly blockers: readonly string[];
  /** Every critic came to nothing. */
  readonly failed: boolean;
  /** Absent: the plan has tasks. */
  readonly withoutTasks?: true;
};

/** The planning ends after this round, and why. */
export type PlanEnd = { readonly why: 'stable' | 'ceiling'; readonly round: number };

/** The three kinds of agents of a round, which work one after the other. */
export type AgentKind = 'architect' | 'researcher' | 'critic';

export interface PlanContext extends ProjectRunContext<PlanConfig, PlanInputValues>, CallingContext {
  /** Name in paths, from the topic. */
  readonly slug: string;
  /** The child run that researched; empty before it has ended. */
  readonly researchRun: string;
  /** Number of findings: F1 up to this one exist. */
  readonly findings: number;
  readonly plan: Plan;
  /** The round that is under way; 0 before the first. */
  readonly round: number;
  readonly rounds: readonly PlanRoundSummary[];
  /** Number of rounds that were over when a person had the planning go on: the end is reckoned from there. */
  readonly countedFrom: number;
  /** The agents at work; `null` between them. */
  readonly agents: FanOut | null;
  /** True while agents correct what was sent back. */
  readonly correcting: boolean;
  /** What was sent back, by agent. */
  readonly sentBack: Readonly<Record<string, readonly Fault[]>>;
  /** Proposals of this round's architects, by agent. */
  readonly drafts: Readonly<Record<string, Draft>>;
  /** Reviews of this round's critics, by agent. */
  readonly reviews: Readonly<Record<string, Review>>;
  /** New claims of this round, one for each researcher. */
  readonly claims: readonly NewClaim[];
  readonly reports: readonly AgentReport[];
  readonly checked: CheckedRound | null;
  /** Passages of researchers that were sent back, by agent. */
  readonly leftOut: Readonly<Record<string, readonly LeftOut[]>>;
  /** New claims of the last round for which nothing was found. */
  readonly unproven: readonly string[];
  readonly issues: readonly Issue[];
  /** Number of issues that were raised. */
  readonly raised: number;
  /** Refused parts of the last proposals and reviews, of which the agents are told. */
  readonly refused: readonly Refused[];
  readonly ends: PlanEnd | null;
  /** A person took the plan with its open blockers. */
  readonly takenAnyway: boolean;
  readonly versions: number;
  /** Of the plan's last version as Markdown; `null`: there is none. */
  readonly planHash: string | null;
  /** A scripted model wrote the plan. */
  readonly scripted: boolean;
  /** `null` before the plan was compiled. */
  readonly compiled: Compiled | null;
}

export type PlanAgentInput = RunHeader & {
  readonly config: PlanConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
  readonly topic: string;
  readonly slug: string;
  readonly researchRun: string;
  /** Id of the agent within the round, such as `critic-3-1`. */
  readonly agent: string;
  /** From 1: decides what the agent looks after. */
  readonly seat: number;
  readonly round: number;
  readonly plan: Plan;
  readonly issues: readonly Issue[];
  readonly refused: readonly Refused[];
  readonly unproven: readonly string[];
};

export type ArchitectInput = PlanAgentInput & {
  /** Its first proposal with what was not taken of it. Absent: this is its first call. */
  readonly correction?: { readonly draft: Draft; readonly faults: readonly Fault[] };
};

export type CriticInput = PlanAgentInput & {
  readonly correction?: { readonly review: Review; readonly faults: readonly Fault[] };
};

export type CommitPlanInput = RunHeader & {
  readonly head: string;
  readonly topic: string;
  readonly slug: string;
  readonly researchRun: string;
  readonly plan: Plan;
  readonly round: number;
  readonly issues: readonly Issue[];
  readonly resolved: number;
  readonly status: 'in_progress' | 'completed';
};

/** The plan as it was committed. */
export type WrittenPlan = {
  readonly commit: string;
  /** Of the plan as Markdown, which people read. */
  readonly artifactHash: string;
  readonly path: string;
};

export type PlanActivities = ProjectRunActivities<PlanConfig> & {
  mergeChild: { input: MergeChildInput; output: ChildMerged };
  readResearch: {
    input: RunHeader & { readonly researchRun: string };
    output: { readonly findings: number; readonly rounds: number };
  };
  draft: { input: ArchitectInput; output: { readonly agent: string; readonly draft: Draft; readonly cost: Cost } };
  criticise: { input: CriticInput; output: { readonly agent: string; readonly review: Review; readonly cost: Cost } };
  research: { input: ResearchInput; output: { readonly report: AgentReport; readonly cost: Cost } };
  checkFindings: { input: CheckInput & { readonly researchRun: string }; output: CheckedRound };
  commitPlan: { input: CommitPlanInput; output: WrittenPlan };
  compile: {
    input: CommitPlanInput;
    output: WrittenPlan & { readonly compiled: Compiled; readonly codeTree: string };
  };
};
