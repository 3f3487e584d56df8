/**
 * Projection of a run: sections that its workflow makes from the run's events, and that clients draw without knowing the workflow.
 * `GET /api/runs/:id/projection` sends it; it is no part of the feed.
 */
import type { EventTone } from './workflows/workflow-info.ts';

/** Rows of a table and items of a list or timeline that a section has at most; `total` counts all. */
export const MOST_PROJECTED = 2_000;

/** A text that may be long and foreign: clients show it as it is, never as HTML or Markdown. */
export interface ProjectedText {
  readonly text: string;
  /** An address of the web that it leads to: `http` or `https`. Absent: it leads nowhere. */
  readonly href?: string | undefined;
  /** Default: `plain`. */
  readonly tone?: EventTone | undefined;
  /** A second line in smaller letters. Absent: none. */
  readonly note?: string | undefined;
  /** ISO 8601 time that clients show behind the text, in the reader's own time zone. Absent: none. */
  readonly at?: string | undefined;
}

/** One agent or step of a timeline's entry. */
export interface ProjectedPart extends ProjectedText {
  readonly title: string;
  /** Counts, a clause each: `2 pages read`. */
  readonly facts: readonly string[];
}

export interface ProjectedEntry {
  /** `Round 3`. */
  readonly title: string;
  readonly startedAt: string;
  /** `null`: under way, or the run ended before it did. */
  readonly endedAt: string | null;
  /** One word on what came of it, such as `quiet`. Absent: none. */
  readonly mark?: ProjectedText | undefined;
  /** Counts, a clause each: `2 new findings`. */
  readonly facts: readonly string[];
  readonly parts: readonly ProjectedPart[];
}

export interface ProjectedItem extends ProjectedText {
  /** A passage that it is about, word for word. Absent: none. */
  readonly quote?: string | undefined;
  /** Where the passage is said to stand. Absent: unknown. */
  readonly source?: ProjectedText | undefined;
  /** Items below it, such as positions of a contradiction. Absent: none. */
  readonly items?: readonly ProjectedText[] | undefined;
}

interface Section {
  /** Letters, digits and hyphens; once in a projection. */
  readonly id: string;
  readonly title: string;
  /** One sentence that stands in its place while it has nothing to show. */
  readonly empty: string;
}

/** Counts by point in time, with the count that decides something as a line across. */
export interface PlotSection extends Section {
  readonly kind: 'plot';
  /** Description in one sentence. */
  readonly about: string;
  /** Head of the first column: what the points in time are. */
  readonly labelled: string;
  readonly labels: readonly string[];
  readonly series: readonly { readonly label: string; readonly values: readonly number[] }[];
  /** Absent: no line. */
  readonly threshold?: { readonly label: string; readonly value: number } | undefined;
}

export interface TimelineSection extends Section {
  readonly kind: 'timeline';
  /** Oldest first; of more than {@link MOST_PROJECTED} the newest. */
  readonly entries: readonly ProjectedEntry[];
  readonly total: number;
}

export interface TableSection extends Section {
  readonly kind: 'table';
  /** Heads of the columns; the first cell of a row names it. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly ProjectedText[])[];
  readonly total: number;
}

export interface ListSection extends Section {
  readonly kind: 'list';
  readonly items: readonly ProjectedItem[];
  readonly total: number;
}

export type ProjectionSection = PlotSection | TimelineSection | TableSection | ListSection;

/** The run as its workflow projects it. */
export interface Projected {
  readonly sections: readonly ProjectionSection[];
  /** Why the run has no document of a type, in whole sentences, by artifact type. Absent: a common sentence stands there. */
  readonly absent?: Readonly<Record<string, string>> | undefined;
}

export interface RunProjection extends Projected {
  /** The run's last event that it is made from. */
  readonly sequence: number;
}
