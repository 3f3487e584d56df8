/**
 * Concerns: facts about a result that a person sees before the run's first move into the project's own branches, whatever the
 * trust mode. The server computes them from git and from what it recorded; no agent has a say in them.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

export const CONCERN_KINDS = [
  /** The result changes files or keys that can run code by themselves: in an editor, in CI, on install, on clone. */
  'runs_code',
  /** The run adds something to the memory that later runs are given. */
  'memory',
  /** The reviewer was not shown all of the result: too much was changed, or a file is of no known kind. */
  'not_reviewed',
  /** The result is the base: nothing was done. */
  'no_change',
  /** Something that looks like a password or a key is in what would leave the machine. */
  'secrets',
  /** The number of tests that ran is not known. */
  'tests_unknown',
  /** Tests of the base commit did not run, or assert less than they did. */
  'tests_fell',
  /** The checks ended without their runner's summary. */
  'tests_unfinished',
  /** The checks ran no test. */
  'tests_none',
] as const;
export type ConcernKind = (typeof CONCERN_KINDS)[number];

/** One reason of a concern. A type and no interface, so that it is a JSON value; so is {@link Concern}. */
export type ConcernItem = {
  /** File of the project; absent where the concern is of no one file. */
  readonly path?: string;
  /** From 1. */
  readonly line?: number;
  /** One line for a person; never holds a secret. */
  readonly reason: string;
  /** Digest of what is accepted with this item; absent where only the whole concern can be accepted. */
  readonly hash?: string;
};

export type Concern = {
  readonly kind: ConcernKind;
  /** One line for a person. */
  readonly title: string;
  readonly items: readonly ConcernItem[];
  /** Digest of the content that is accepted with it: equal content has an equal hash, whatever the base commit. */
  readonly hash: string;
};

/** A concern that a person accepted by a decision at the gate that showed it. */
export type AcceptedConcern = {
  readonly kind: ConcernKind;
  readonly hash: string;
  /** Hashes of its items. */
  readonly items: readonly string[];
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly reason?: string;
};

/** Decision of a person at a gate that showed concerns, as far as their acceptance records it. */
interface ConcernsDecision {
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly notes?: string;
}

/** SHA-256 over everything that a surface shows of concerns: kinds, titles, and each item with its place. */
export function concernsHashOf(concerns: readonly Concern[]): string {
  const shown = concerns.map(({ kind, title, items, hash }) => [
    kind,
    title,
    hash,
    items.map((item) => [item.path ?? null, item.line ?? null, item.reason, item.hash ?? null]),
  ]);
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify(shown))));
}

/** Has a person accepted all of this content, at one gate or at several? */
export function isAccepted(concern: Concern, accepted: readonly AcceptedConcern[]): boolean {
  const ofKind = accepted.filter(({ kind }) => kind === concern.kind);
  if (ofKind.some(({ hash }) => hash === concern.hash)) return true;
  const items = new Set(ofKind.flatMap((each) => each.items));
  return concern.items.length > 0 && concern.items.every(({ hash }) => hash !== undefined && items.has(hash));
}

/**
 * The concerns that nobody has accepted and that stop a run. What a run would add to the memory stops none: it is left out unless
 * a person has accepted it.
 */
export function openConcerns(concerns: readonly Concern[], accepted: readonly AcceptedConcern[]): readonly Concern[] {
  return concerns.filter((concern) => concern.kind !== 'memory' && !isAccepted(concern, accepted));
}

/** Acceptances that follow from a person's decision at a gate that showed these concerns. */
export function acceptedAt(concerns: readonly Concern[], decision: ConcernsDecision): readonly AcceptedConcern[] {
  const { by, at, notes } = decision;
  return concerns.map(({ kind, hash, items }) => ({
    kind,
    hash,
    items: items.flatMap((item) => item.hash ?? []),
    by,
    at,
    ...(notes === undefined || notes === '' ? {} : { reason: notes }),
  }));
}
