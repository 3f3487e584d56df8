/** Input and output types of activities of any workflow. All are plain JSON. */
import type { Evidence } from '@autonomous/shared';

/** Something that a later call of an agent has to know. */
export interface Note {
  readonly kind: 'answer' | 'feedback' | 'message' | 'parser' | 'checks' | 'review';
  readonly text: string;
  /** Files that a person gave with an answer, read-only in the sandbox under `/uploads`. */
  readonly uploads?: readonly { readonly id: string; readonly name: string }[];
}

/** Data of its run that every activity gets. */
export interface RunHeader {
  readonly runId: string;
  readonly projectId: string;
  readonly request: string;
  readonly branch: string;
  readonly startedAt: string;
}

export interface ProjectCommand {
  readonly command: string;
  /** Where it was found: a file of the project, the configuration, or a person's answer. */
  readonly source: string;
}

export interface Cost {
  readonly role: string;
  readonly model: string;
  readonly scripted: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly calls: number;
  /** Each request was booked by itself and is counted already. */
  readonly metered?: boolean;
}

export type Checked = Omit<Evidence, 'recordedAt'>;

export type CheckInput = RunHeader & {
  readonly mode: Checked['mode'];
  readonly commit: string;
  readonly baseCommit: string;
  readonly setup: ProjectCommand | null;
  readonly test: ProjectCommand;
  readonly excludePaths: readonly string[];
  readonly timeoutMinutes: number;
};
export type BaselineInput = Omit<CheckInput, 'mode' | 'commit'>;

/** Files that an interrupted agent left, as a commit; `null` if it left none. */
export interface Checkpoint {
  readonly commit: string | null;
  readonly refused: readonly string[];
}

export interface CommittedCode {
  readonly commit: string;
  readonly codeTree: string;
  readonly filesChanged: readonly string[];
}

export interface Published {
  readonly commit: string;
  readonly pushed: boolean;
  readonly note?: string;
  /** Where it is another than the run's own. */
  readonly branch?: string;
  readonly pullRequest?: { readonly number: number; readonly url: string };
}

/** The record of a run as it was committed. */
export interface Recorded {
  readonly commit: string;
  readonly codeTree: string;
  /** Notices for people about the project's memory. */
  readonly notices: readonly string[];
}
