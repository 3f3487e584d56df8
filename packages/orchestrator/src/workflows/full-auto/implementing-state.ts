/** The state file of a topic while its features are built: the one that the planning left, with the figures of the building. Pure. */
import { topicFiles } from '../parts/topics/topic-files.ts';

export interface ImplementingState {
  /** Name of the topic in paths. */
  readonly slug: string;
  readonly status: 'in_progress' | 'completed';
  readonly iterations: number;
  readonly features: number;
  readonly complete: number;
  readonly failed: number;
  /** Paths to read first when the work is taken up again. */
  readonly restoration: readonly string[];
}

const PHASE = 'Phase C: Implementation';

/** @param text the state file as the planning, or an earlier feature, left it; `null`: the plan was there without research */
export function withImplementing(text: string | null, state: ImplementingState): string {
  const { slug, status, iterations, features, complete, failed, restoration } = state;
  const before = text ?? begun(slug);
  const earlier = [/^total_iterations_research: (\d{1,6})$/m, /^total_iterations_planning: (\d{1,6})$/m].map((line) =>
    Number(line.exec(before)?.[1] ?? 0),
  );
  const lines: readonly (readonly [RegExp, string])[] = [
    [/^workflow_type: .*$/m, 'workflow_type: autonomous-full-auto'],
    [/^status: .*$/m, `status: ${status}`],
    [/^current_phase: .*$/m, `current_phase: "${PHASE}"`],
    [/^iteration: .*$/m, `iteration: ${earlier.reduce((sum, count) => sum + count, iterations)}`],
    [/^total_iterations_coding: .*$/m, `total_iterations_coding: ${iterations}`],
    [/^features_total: .*$/m, `features_total: ${features}`],
    [/^features_complete: .*$/m, `features_complete: ${complete}`],
    [/^(?<head>## Current Phase\n).*$/m, `$<head>${PHASE}`],
    [/^- Features total: .*$/m, `- Features total: ${features}`],
    [/^- Features complete: .*$/m, `- Features complete: ${complete}`],
    [/^- Features failed: .*$/m, `- Features failed: ${failed}`],
    [
      /^(?<head>## Completed Phases(?:\n- \[[ x]\] Phase [AB]: \w+$)*)(?:\n- \[[ x]\] Phase C: Implementation$)?/m,
      `$<head>\n- [${status === 'completed' ? 'x' : ' '}] ${PHASE}`,
    ],
  ];
  const updated = lines.reduce((now, [line, next]) => now.replace(line, next), before);
  return restoration.reduce(withPath, updated);
}

/** The list at the end of the file, with one more path. */
function withPath(text: string, path: string): string {
  if (text.split('\n').some((line) => /^\d+\. (?<path>\S+)/.exec(line)?.groups?.['path'] === path)) return text;
  const last = /^(?<number>\d+)\. .*$\s*$(?![\s\S])/m.exec(text)?.groups?.['number'];
  return `${text.trimEnd()}\n${Number(last ?? 0) + 1}. ${path}\n`;
}

function begun(slug: string): string {
  return `---
workflow_type: autonomous-full-auto
name: ${slug}
status: in_progress
current_phase: "${PHASE}"
iteration: 0
total_iterations_research: 0
total_iterations_planning: 0
total_iterations_coding: 0
features_total: 0
features_complete: 0
---

# Autonomous Workflow State: ${slug}

## Current Phase
${PHASE}

## Completed Phases

## Implementation Progress (Mode 3)
- Features total: 0
- Features complete: 0
- Features failed: 0

## Context Restoration Files
1. ${topicFiles(slug).state} (this file)
`;
}
