/** The binding of a decision to what its person had in sight: the gate, and the hashes of what the gate shows. */
import type { Decision, Gate } from './run.ts';

export interface ShownGate {
  readonly gateId: string;
  /** Absent where the gate shows no artifact. */
  readonly artifactHash?: string | undefined;
  /** Absent where the gate shows no code. */
  readonly codeTree?: string | undefined;
}

/** {@link ShownGate} as a request may have it. */
export type ShownFields = { readonly [Name in keyof ShownGate]?: ShownGate[Name] | undefined };

/** Decisions by which a person vouches for what a gate shows: they name all of it. */
const VOUCHING: ReadonlySet<Decision> = new Set(['approve', 'accept']);

/** Whether a decision must name the gate and every hash that the gate shows. */
export function vouches(decision: Decision): boolean {
  return VOUCHING.has(decision);
}

/** What a surface that shows this gate sends with a decision of it. */
export function shownAt({ id, artifactHash, codeTree }: Pick<Gate, 'id' | 'artifactHash' | 'codeTree'>): ShownGate {
  return {
    gateId: id,
    ...(artifactHash === undefined ? {} : { artifactHash }),
    ...(codeTree === undefined ? {} : { codeTree }),
  };
}

/** {@link shownAt} for one decision: a decision that vouches for nothing names the gate alone. */
export function bindingOf(decision: Decision, gate: Pick<Gate, 'id' | 'artifactHash' | 'codeTree'>): ShownGate {
  return vouches(decision) ? shownAt(gate) : { gateId: gate.id };
}

/** The hashes of a gate as one word: `ARTIFACT:TREE`, `ARTIFACT` or `:TREE`; `null` where the gate has none. */
export function hashWordOf({ artifactHash, codeTree }: Pick<Gate, 'artifactHash' | 'codeTree'>): string | null {
  if (artifactHash === undefined && codeTree === undefined) return null;
  const tree = codeTree === undefined ? '' : `:${encodeURIComponent(codeTree)}`;
  return `${encodeURIComponent(artifactHash ?? '')}${tree}`;
}

/** Reads what {@link hashWordOf} wrote; `null` for a word of another form. */
export function readHashWord(word: string): Omit<ShownGate, 'gateId'> | null {
  const [, artifactHash = '', codeTree = ''] = /^([^\s:]*)(?::([^\s:]+))?$/.exec(word) ?? [];
  if (artifactHash === '' && codeTree === '') return null;
  try {
    return {
      ...(artifactHash === '' ? {} : { artifactHash: decodeURIComponent(artifactHash) }),
      ...(codeTree === '' ? {} : { codeTree: decodeURIComponent(codeTree) }),
    };
  } catch {
    return null;
  }
}

/** Names of what a decision leaves out although its gate shows it, as fields of a request. */
export function missingOf(
  gate: Pick<Gate, 'artifactHash' | 'codeTree'>,
  given: ShownFields,
): readonly (keyof ShownGate)[] {
  return [
    ...(given.gateId === undefined ? (['gateId'] as const) : []),
    ...(['artifactHash', 'codeTree'] as const).filter((name) => gate[name] !== undefined && given[name] === undefined),
  ];
}

/** Names of what a decision gives and the gate shows otherwise. */
export function movedOf(
  gate: Pick<Gate, 'artifactHash' | 'codeTree'>,
  given: ShownFields,
): readonly ('artifactHash' | 'codeTree')[] {
  return (['artifactHash', 'codeTree'] as const).filter(
    (name) => given[name] !== undefined && given[name] !== gate[name],
  );
}
