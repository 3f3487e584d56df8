/** The binding of a decision to what its person had in sight: the gate, and the hashes of what the gate shows. */
import type { Decision, Gate } from '../run.ts';

export interface ShownGate {
  readonly gateId: string;
  /** Absent where the gate shows no artifact. */
  readonly artifactHash?: string | undefined;
  /** Absent where the gate shows no code. */
  readonly codeTree?: string | undefined;
  /** Absent where the gate has no concerns. */
  readonly concernsHash?: string | undefined;
}

/** {@link ShownGate} as a request may have it. */
export type ShownFields = { readonly [Name in keyof ShownGate]?: ShownGate[Name] | undefined };

type HashName = Exclude<keyof ShownGate, 'gateId'>;
/** In the order in which {@link hashWordOf} writes them. */
const HASH_NAMES: readonly HashName[] = ['artifactHash', 'codeTree', 'concernsHash'];

/** A gate as far as it shows something that is decided. */
export type GateFacts = Pick<Gate, HashName>;

/** Decisions by which a person vouches for what a gate shows: they name all of it. */
const VOUCHING: ReadonlySet<Decision> = new Set(['approve', 'accept']);

/** Whether a decision must name the gate and every hash that the gate shows. */
export function vouches(decision: Decision): boolean {
  return VOUCHING.has(decision);
}

/**
 * Whether a decision would accept concerns of the gate. A surface that does not show them opens one that does, in place of
 * deciding.
 */
export function acceptsConcerns(decision: Decision, { concerns = [] }: Pick<Gate, 'concerns'>): boolean {
  return vouches(decision) && concerns.length > 0;
}

/** Every hash that a gate shows. */
export function hashesOf({ artifactHash, codeTree, concernsHash }: GateFacts): Omit<ShownGate, 'gateId'> {
  return {
    ...(artifactHash === undefined ? {} : { artifactHash }),
    ...(codeTree === undefined ? {} : { codeTree }),
    ...(concernsHash === undefined ? {} : { concernsHash }),
  };
}

/** Fields that a surface which shows this gate and its concerns sends with a decision. */
export function shownAt(gate: GateFacts & Pick<Gate, 'id'>): ShownGate {
  return { gateId: gate.id, ...hashesOf(gate) };
}

/** {@link shownAt} for one decision: a decision that vouches for nothing names the gate alone. */
export function bindingOf(decision: Decision, gate: GateFacts & Pick<Gate, 'id'>): ShownGate {
  return vouches(decision) ? shownAt(gate) : { gateId: gate.id };
}

/**
 * The hashes of a gate as one word, `ARTIFACT:TREE:CONCERNS`: what the gate does not have is empty, and left out with its colon
 * at the end; `null` where the gate has none.
 */
export function hashWordOf(gate: GateFacts): string | null {
  const hashes = hashesOf(gate);
  const parts = HASH_NAMES.map((name) => encodeURIComponent(hashes[name] ?? ''));
  while (parts.at(-1) === '') parts.pop();
  return parts.length === 0 ? null : parts.join(':');
}

/** Reads what {@link hashWordOf} wrote; `null` for a word of another form. */
export function readHashWord(word: string): Omit<ShownGate, 'gateId'> | null {
  const parts = word.split(':');
  if (parts.length > HASH_NAMES.length || parts.at(-1) === '' || /\s/.test(word)) return null;
  try {
    return Object.fromEntries(
      HASH_NAMES.flatMap((name, index) => {
        const part = parts[index] ?? '';
        return part === '' ? [] : [[name, decodeURIComponent(part)]];
      }),
    );
  } catch {
    return null;
  }
}

/** Names of what a decision leaves out although its gate shows it, as fields of a request. */
export function missingOf(gate: GateFacts, given: ShownFields): readonly (keyof ShownGate)[] {
  const hashes = hashesOf(gate);
  return [
    ...(given.gateId === undefined ? (['gateId'] as const) : []),
    ...HASH_NAMES.filter((name) => hashes[name] !== undefined && given[name] === undefined),
  ];
}

/** Names of what a decision gives and the gate shows otherwise. */
export function movedOf(gate: GateFacts, given: ShownFields): readonly HashName[] {
  const hashes = hashesOf(gate);
  return HASH_NAMES.filter((name) => given[name] !== undefined && given[name] !== hashes[name]);
}
