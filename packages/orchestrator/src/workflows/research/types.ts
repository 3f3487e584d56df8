/** The data of a research run: its input, its context, and what its activities take and give. All plain JSON. */
import type { RunConfig } from '@autonomous/shared';
import { z } from 'zod';
import type { Cost, Note, RunHeader } from '../../activities/types.ts';
import type { CallingContext } from '../parts/costs.ts';
import type { FanOut } from '../parts/fan-out.ts';
import type { ProjectRunActivities, ProjectRunContext, ProjectRunInput } from '../parts/project-run.ts';
import { researchFields } from '../parts/topics/research-fields.ts';

export const researchInputSchema = z.strictObject({
  ...researchFields,
  maxRounds: z.number().int().min(1).max(100).default(30).meta({
    title: 'Rounds',
    description: 'After so many rounds the research ends in any case.',
  }),
  maxRepairs: z.number().int().min(0).max(10).default(3).meta({
    title: 'Repairs of the report',
    description: 'Attempts of an agent to mend a report that LaTeX does not compile.',
  }),
});
export type ResearchInputValues = z.infer<typeof researchInputSchema>;

export const RESEARCH_ROLES = [
  'researcher',
  'repo-analyst',
  'synthesiser',
  'novelty-judge',
  'report-repairer',
] as const;
export type ResearchRole = (typeof RESEARCH_ROLES)[number];

/** The run's configuration with everything that this workflow asks of it. */
export type ResearchConfig = RunConfig & {
  readonly trustMode: Readonly<Record<'implementation', 'auto' | 'manual'>>;
  readonly modelRouting: Readonly<Record<ResearchRole, string>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<'researching', number>>;
};

export type ResearchRunInput = ProjectRunInput<ResearchConfig>;

export const CONFIDENCES = ['high', 'medium', 'low'] as const;
export type Confidence = (typeof CONFIDENCES)[number];

/** A quoted passage, and where it stands: an address of the web, or `file:<path>` of the project. */
export type Evidence = { readonly quote: string; readonly address: string };

export type Source = { readonly address: string; readonly credibility: Confidence; readonly why: string };

/** A finding as an agent reports it. */
export type ReportedFinding = {
  readonly claim: string;
  readonly evidence: readonly Evidence[];
  readonly confidence: Confidence;
};

/** A finding that the report has: each of its passages stands in a page that the run fetched. */
export type Finding = {
  /** `F1`, `F2`, … in the order in which they were kept. */
  readonly id: string;
  readonly claim: string;
  readonly evidence: readonly (Evidence & { readonly hash: string })[];
  readonly sources: readonly Source[];
  readonly confidence: Confidence;
  readonly round: number;
};

/** A page, document or file that an agent of this run read, or could not read. */
export type FetchedSource = {
  readonly requested: string;
  /** After redirects. */
  readonly address: string;
  /** ISO 8601. */
  readonly at: string;
  readonly status: number | null;
  /** SHA-256 of the stored text, hex; `null` where it could not be read. */
  readonly hash: string | null;
  readonly title: string;
  /** ISO 8601 date; `null`: unknown. */
  readonly published: string | null;
  readonly author: string | null;
  readonly mediaType: string;
  /** Why it could not be read; empty where it could. */
  readonly refused: string;
};

export const DIRECTION_KINDS = ['web', 'repository'] as const;

/** A question for one agent of a round. */
export type Direction = { readonly kind: (typeof DIRECTION_KINDS)[number]; readonly question: string };

/** The words that one agent of a round brought back. */
export type AgentFindings = {
  readonly summary: string;
  readonly findings: readonly ReportedFinding[];
  readonly sources: readonly Source[];
  readonly contradictions: readonly string[];
  readonly followUps: readonly string[];
};

/** An agent of a round with what it brought back. */
export type AgentReport = AgentFindings & {
  /** Id of the agent within the round, such as `researcher-2`. */
  readonly agent: string;
  readonly fetched: readonly FetchedSource[];
};

/** A passage or claim that was not taken, and why. */
export type LeftOut = {
  readonly agent: string;
  readonly claim: string;
  readonly quote: string;
  readonly address: string;
  readonly reason: string;
};

/** Two findings that only a judge can tell apart. */
export type Doubt = {
  readonly agent: string;
  readonly index: number;
  readonly claim: string;
  /** The known finding that is nearest. */
  readonly known: string;
  readonly knownClaim: string;
};

/** A finding whose passages stand, before it has an id. */
export type SoundFinding = Omit<Finding, 'id' | 'round'> & {
  readonly agent: string;
  readonly index: number;
  /** It says what this known finding says, from another source. */
  readonly sameAs?: string;
};

/** Result of the check of a round's findings, which uses no model. */
export type CheckedRound = {
  readonly sound: readonly SoundFinding[];
  readonly doubts: readonly Doubt[];
  readonly leftOut: readonly LeftOut[];
  /** Findings that are known already. */
  readonly known: number;
};

/** A round that is over. */
export type RoundSummary = {
  readonly round: number;
  readonly agents: number;
  readonly failed: number;
  readonly kept: number;
  readonly known: number;
  readonly leftOut: number;
};

/** A subsection of the key findings. */
export type Theme = {
  /** `T1`, `T2`, … */
  readonly id: string;
  readonly title: string;
  /** With `[F1]` where it rests on a finding. */
  readonly text: string;
  readonly findings: readonly string[];
};

export type Conflict = {
  /** `C1`, `C2`, … */
  readonly id: string;
  readonly about: string;
  readonly positions: readonly { readonly text: string; readonly findings: readonly string[] }[];
  /** `null`: an open question. */
  readonly resolution: string | null;
};

/** The texts of the report that an agent writes. */
export type ReportTexts = {
  readonly executiveSummary: string;
  readonly background: string;
  readonly themes: readonly Theme[];
  readonly analysis: string;
  readonly conflicts: readonly Conflict[];
  readonly openQuestions: readonly string[];
};

/** What changed in a round: absent texts stay as they are. */
export type ReportUpdate = {
  readonly executiveSummary?: string | undefined;
  readonly background?: string | undefined;
  readonly themes: readonly {
    readonly id: string | null;
    readonly title: string;
    readonly text: string;
    readonly findings: readonly string[];
  }[];
  readonly analysis?: string | undefined;
  readonly conflicts: readonly (Omit<Conflict, 'id'> & { readonly id: string | null })[];
  readonly openQuestions: readonly string[];
  readonly directions: readonly Direction[];
};

/** The research ends after this round, and why. */
export type ResearchEnd = { readonly why: 'few_new' | 'ceiling'; readonly round: number };

export interface ResearchContext extends ProjectRunContext<ResearchConfig, ResearchInputValues>, CallingContext {
  /** Name in paths, from the topic. */
  readonly slug: string;
  /** The project has files that analysts can read. */
  readonly hasCode: boolean;
  /** The round that is under way; 0 before the first. */
  readonly round: number;
  readonly rounds: readonly RoundSummary[];
  /** Number of rounds that were over when a person had the research go on: the end is reckoned from there. */
  readonly countedFrom: number;
  readonly directions: readonly Direction[];
  /** The agents of this round; `null` between rounds. */
  readonly agents: FanOut | null;
  /** True while the agents correct passages that were not found. */
  readonly correcting: boolean;
  /** Rejected passages that were sent back, by agent. */
  readonly sentBack: Readonly<Record<string, readonly LeftOut[]>>;
  readonly reports: readonly AgentReport[];
  readonly checked: CheckedRound | null;
  /** New findings of this round that the synthesiser has not seen yet. */
  readonly fresh: readonly Finding[];
  /** Number of findings that were kept. */
  readonly findings: number;
  /** Number of different sources that were read. */
  readonly sources: number;
  readonly texts: ReportTexts;
  /** Sentences of the last texts that no finding supports: told once. */
  readonly unsupported: readonly string[];
  readonly ends: ResearchEnd | null;
  readonly repairs: number;
  /** Number of versions of the report that were committed. */
  readonly versions: number;
  /** Of the report's last version; `null`: there is none. */
  readonly reportHash: string | null;
  /** A scripted model wrote the texts. */
  readonly scripted: boolean;
  /** `null` before the report was compiled. */
  readonly compiled: Compiled | null;
}

export type Compiled =
  | {
      readonly kind: 'compiled';
      readonly pages: number;
      /** The file on the run's branch, with the SHA-256 of its bytes in hex. */
      readonly pdf: { readonly path: string; readonly hash: string };
    }
  /** There is no LaTeX where commands run. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly errors: string };

type AgentInput = RunHeader & {
  readonly config: ResearchConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
  readonly topic: string;
};

export type ResearchInput = AgentInput & {
  readonly agent: string;
  readonly direction: Direction;
  readonly round: number;
  /** Its first report with the passages of it that were not found. Absent: this is its first call. */
  readonly correction?: { readonly report: AgentReport; readonly leftOut: readonly LeftOut[] };
};

export type SynthesiseInput = AgentInput & {
  readonly round: number;
  /** Maximum of directions of each kind. */
  readonly wanted: Readonly<Record<Direction['kind'], number>>;
  readonly texts: ReportTexts;
  readonly fresh: readonly Finding[];
  readonly summaries: readonly string[];
  readonly contradictions: readonly string[];
  readonly followUps: readonly string[];
  readonly unsupported: readonly string[];
};

export type CheckInput = RunHeader & {
  readonly baseCommit: string;
  readonly round: number;
  readonly reports: readonly AgentReport[];
};

export type JudgeInput = AgentInput & { readonly doubts: readonly Doubt[] };

export type CommitReportInput = RunHeader & {
  readonly head: string;
  readonly topic: string;
  readonly slug: string;
  readonly prompt: string;
  readonly round: number;
  readonly rounds: readonly RoundSummary[];
  readonly texts: ReportTexts;
  readonly status: 'in_progress' | 'completed';
  readonly quietRounds: number;
};

export type CompileInput = CommitReportInput & {
  readonly excludePaths: readonly string[];
  readonly config: ResearchConfig;
  /** True: an agent has repaired the file, and it is compiled without rendering it again. */
  readonly repaired: boolean;
};

/** The report as it was committed. */
export type WrittenReport = {
  readonly commit: string;
  /** Of the report as Markdown, which people read. */
  readonly artifactHash: string;
  readonly path: string;
};

export type RepairInput = AgentInput & { readonly slug: string; readonly errors: string };

export type ResearchActivities = ProjectRunActivities<ResearchConfig> & {
  readTopic: {
    input: RunHeader & { readonly baseCommit: string; readonly topic: string; readonly researchers: number };
    output: { readonly slug: string; readonly hasCode: boolean; readonly canSearch: boolean };
  };
  research: { input: ResearchInput; output: { readonly report: AgentReport; readonly cost: Cost } };
  checkFindings: { input: CheckInput; output: CheckedRound };
  judge: {
    input: JudgeInput;
    output: { readonly isNew: readonly boolean[]; readonly why: readonly string[]; readonly cost: Cost };
  };
  synthesise: {
    input: SynthesiseInput;
    output: { readonly update: ReportUpdate; readonly unsupported: readonly string[]; readonly cost: Cost };
  };
  commitReport: {
    input: CommitReportInput;
    output: WrittenReport;
  };
  compile: {
    input: CompileInput;
    output: WrittenReport & { readonly compiled: Compiled; readonly codeTree: string };
  };
  repair: { input: RepairInput; output: { readonly commit: string; readonly cost: Cost } };
};
