/** A gate at which a person approves or rejects exactly the version that they were shown. */
import type { Concern, Decision, JsonObject, Stage } from '@autonomous/shared';
import type { StateMeta } from '../../core/definition.ts';

/** Content that a gate shows. Absent and `null`: there is nothing of this kind. */
export interface Shown {
  readonly artifactHash?: string | null | undefined;
  readonly codeTree?: string | null | undefined;
  readonly concerns?: readonly Concern[] | undefined;
}

export interface ApprovalGate<Context> {
  readonly stage: Stage;
  readonly kind: string;
  readonly decisions: readonly Decision[];
  readonly summary: (context: Context) => string;
  readonly shows: (context: Context) => Shown;
  /** Default: none. */
  readonly details?: (context: Context) => JsonObject;
}

/** The `meta` of a state in which a run waits for an approval. */
export function approvalGate<Context>({
  stage,
  kind,
  decisions,
  summary,
  shows,
  details = () => ({}),
}: ApprovalGate<Context>): StateMeta<Context> {
  const facts = (context: Context) => ({ ...factsOf(shows(context)), details: details(context) });
  return { status: 'awaiting_approval', stage, gate: { kind, decisions, summary, facts } };
}

/**
 * Makes the guard of APPROVAL_GRANTED: each hash that the approval names has to be that of what the gate shows now. An
 * approval of an older version is stale, and the guard refuses it.
 */
export function approves<Context>(shows: (context: Context) => Shown) {
  return ({ context, event }: { readonly context: Context; readonly event: Approval }): boolean => {
    const { artifactHash, codeTree } = shows(context);
    return (
      event.type === 'APPROVAL_GRANTED' &&
      (event.artifactHash === undefined || event.artifactHash === artifactHash) &&
      (event.codeTree === undefined || event.codeTree === codeTree)
    );
  };
}

/** Fields of APPROVAL_GRANTED that name what was shown; other events have none of them. */
interface Approval {
  readonly type: string;
  readonly artifactHash?: string;
  readonly codeTree?: string;
}

function factsOf({ artifactHash, codeTree, concerns = [] }: Shown) {
  return {
    ...(artifactHash ? { artifactHash } : {}),
    ...(codeTree ? { codeTree } : {}),
    ...(concerns.length === 0 ? {} : { concerns }),
  };
}
