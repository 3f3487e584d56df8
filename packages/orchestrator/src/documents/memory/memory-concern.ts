/**
 * Raises the additions of a run's agents to the project's memory as a concern. Later runs receive the memory, so an
 * addition is kept only if a person has seen and accepted it at a gate. The rest is left out. Pure.
 */
import { type AcceptedConcern, type Concern, isAccepted, type RunDecision } from '@autonomous/shared';
import { digestOf } from '../concern-digests.ts';
import type { Solution } from './solution-memory.ts';

export interface MemoryAddition {
  readonly title: string;
  readonly decisions: readonly RunDecision[];
  readonly techStack: readonly string[];
  readonly patterns: readonly string[];
  /** None: absent. */
  readonly solutions?: readonly Solution[];
}

const TITLE = 'What the run adds to the project’s memory, which later runs are given';

/** @returns `null` where nothing of it comes from an agent */
export function memoryConcern(addition: MemoryAddition): Concern | null {
  const items = entriesOf(addition).map((text) => ({
    path: '.autonomous/memory.md',
    // As one line, like every other reason; the memory holds it as one too.
    reason: text.replace(/\s+/g, ' '),
    hash: hashOf(text),
  }));
  if (items.length === 0) return null;
  return { kind: 'memory', title: TITLE, items, hash: digestOf(items.map(({ hash }) => hash)) };
}

/**
 * The addition as far as people have accepted it.
 * @param request the person's own words, in place of a title that nobody has accepted
 * @returns `left`: how many entries beside the title nobody has accepted
 */
export function acceptedMemory(
  addition: MemoryAddition,
  accepted: readonly AcceptedConcern[],
  request: string,
): MemoryAddition & { readonly left: number } {
  const isSeen = (text: string): boolean =>
    isAccepted({ kind: 'memory', title: '', items: [{ reason: text, hash: hashOf(text) }], hash: '' }, accepted);
  return {
    title: isSeen(titled(addition.title)) ? addition.title : request.slice(0, 80),
    decisions: addition.decisions.filter((decision) => isSeen(decided(decision))),
    techStack: addition.techStack.filter((each) => isSeen(stack(each))),
    patterns: addition.patterns.filter((each) => isSeen(pattern(each))),
    solutions: (addition.solutions ?? []).filter((each) => isSeen(solved(each))),
    left: entriesOf(addition).filter((text) => text !== titled(addition.title) && !isSeen(text)).length,
  };
}

function entriesOf({ title, decisions, techStack, patterns, solutions = [] }: MemoryAddition): string[] {
  const about = [...techStack.map(stack), ...patterns.map(pattern), ...decisions.map(decided)];
  return [...new Set([titled(title), ...about, ...solutions.map(solved)])];
}

const titled = (title: string): string => `title: ${title}`;
const stack = (name: string): string => `tech stack: ${name}`;
const pattern = (text: string): string => `pattern: ${text}`;
const decided = ({ topic, choice, rationale }: RunDecision): string =>
  `decision: ${topic}: ${choice}${rationale === '' ? '' : ` (${rationale})`}`;
const solved = ({ problem, cause, fix, files }: Solution): string =>
  `solution: ${problem} – cause: ${cause} – fix: ${fix}${files.length === 0 ? '' : ` (${files.join(', ')})`}`;

function hashOf(text: string): string {
  return digestOf(['memory', text]);
}
