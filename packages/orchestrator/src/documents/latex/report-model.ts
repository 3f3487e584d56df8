/** Content of a research report, from which its LaTeX, its bibliography and its Markdown are made. */

export type Level = 'high' | 'medium' | 'low';

/** `prose`: text in the subset of Markdown of `prose.ts`, in which `[F12]` cites a finding. All other text is plain. */
export interface ReportModel {
  readonly topic: string;
  /** Day of the report, `YYYY-MM-DD`. */
  readonly date: string;
  /** Prose. */
  readonly executiveSummary: string;
  /** Prose. */
  readonly background: string;
  /** In the order in which they are shown: by theme. */
  readonly findings: readonly ReportFinding[];
  /** Prose. */
  readonly analysis: string;
  readonly conflicts: readonly SourceConflict[];
  readonly openQuestions: readonly OpenQuestion[];
  /** Prose about the way that was taken. The figures are added to it. */
  readonly methodology: string;
  readonly rounds: number;
  /** Sources that were fetched, also those that nothing cites. */
  readonly sourcesConsulted: number;
  /** Prose: how the credibility of sources was judged. */
  readonly credibilityCriteria: string;
  /** All that findings cite, each address once. */
  readonly sources: readonly ReportSource[];
  readonly leftOut: readonly LeftOutCitation[];
}

export interface ReportFinding {
  /** `F` and a number. */
  readonly id: string;
  readonly title: string;
  /** Prose, without citations: those of the finding follow it. */
  readonly claim: string;
  readonly evidence: readonly Evidence[];
  /** Addresses of sources. */
  readonly sources: readonly string[];
  readonly confidence: Level;
  readonly confidenceReason: string;
  readonly caveats: readonly string[];
}

export interface Evidence {
  /** Passage of the source, verbatim. */
  readonly quote: string;
  /** Address of the source. */
  readonly source: string;
}

export interface ReportSource {
  /** Address of the web, or a path in the repository. */
  readonly address: string;
  /** Empty: it has none. */
  readonly title: string;
  /** `Family, Given` for a person, else the name as it is. Empty: the host stands for them. */
  readonly authors: readonly string[];
  /** Begins with the year; `null`: unknown. */
  readonly published: string | null;
  /** ISO 8601. */
  readonly fetchedAt: string;
  /** SHA-256 of what was fetched, in hexadecimal. */
  readonly hash: string;
  readonly credibility: Level;
  readonly credibilityReason: string;
}

/** Sources that contradict each other. */
export interface SourceConflict {
  readonly question: string;
  readonly positions: readonly Position[];
  /** Prose; `null`: it is an open question. */
  readonly resolution: string | null;
}

export interface Position {
  /** Prose, without citations: those of its findings follow it. */
  readonly statement: string;
  /** Ids of findings. */
  readonly findings: readonly string[];
}

export interface OpenQuestion {
  readonly question: string;
  /** Prose: why it could not be answered, and what would be needed. May be empty. */
  readonly detail: string;
}

export interface LeftOutCitation {
  readonly claim: string;
  readonly address: string;
  readonly reason: string;
}
