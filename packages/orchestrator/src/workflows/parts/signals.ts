/**
 * Signals by which people decide about a run: their payloads as schemas, and the machine events that they become. A workflow
 * lists those that its machine takes: `signals: decisionsOf('APPROVAL_GRANTED', …)` or all of them.
 */
import type { EventPayloads } from '@autonomous/shared';
import { z } from 'zod';

const by = z.string().min(1).max(200);
const gateId = z.string().max(300).optional();
const text = z.string().trim().min(1).max(20_000);
const take = z
  .strictObject({
    runId: z.string().min(1).max(200),
    commit: z.string().min(1).max(200),
    paths: z
      .array(
        z
          .string()
          .min(1)
          .max(4_000)
          .refine((path) => !path.startsWith('.autonomous/'), 'belongs to the record of its run'),
      )
      .min(1)
      .max(500),
    scripted: z.boolean().optional(),
    andThen: z.enum(['check', 'implement']),
  })
  .optional();

export const decisionSignals = {
  APPROVAL_GRANTED: z.strictObject({
    by,
    gateId,
    artifactHash: z.string().max(200).optional(),
    codeTree: z.string().max(200).optional(),
    notes: z.string().max(20_000).optional(),
    editedPlan: z.string().max(200_000).optional(),
  }),
  APPROVAL_REJECTED: z.strictObject({ by, gateId, feedback: text, take }),
  CLARIFICATION_ANSWERED: z.strictObject({
    by,
    gateId,
    response: text,
    choices: z.array(z.string()).optional(),
    uploads: z.array(z.strictObject({ id: z.string(), name: z.string() })).optional(),
  }),
  CLARIFICATION_IGNORED: z.strictObject({ by, gateId }),
  QUESTION_ASKED: z.strictObject({ by, gateId, question: text }),
  FIX_DECIDED: z.strictObject({
    by,
    gateId,
    decision: z.enum(['retry', 'accept', 'close']),
    reason: z.string().max(20_000).optional(),
    attempt: z.number().optional(),
    accepted: z.array(z.string()).optional(),
    take,
  }),
  RETRY_REQUESTED: z.strictObject({
    by,
    gateId,
    notes: z.string().max(20_000).optional(),
    accepts: z.string().max(200).optional(),
  }),
  STAGE_EXTENDED: z.strictObject({
    by,
    minutes: z
      .number()
      .positive()
      .max(7 * 24 * 60),
  }),
  BUDGET_CHANGED: z.strictObject({
    by,
    gateId,
    maxCostUsd: z.number().positive().nullable().optional(),
    maxTokens: z.number().int().positive().nullable().optional(),
    maxToolCalls: z.number().int().positive().nullable().optional(),
    maxTreeCostUsd: z.number().positive().nullable().optional(),
    maxTreeTokens: z.number().int().positive().nullable().optional(),
    maxTreeToolCalls: z.number().int().positive().nullable().optional(),
  }),
  MESSAGE_SENT: z.strictObject({ by, text }),
  /** `cause` is the engine's. */
  RUN_CANCELLED: z.strictObject({ by, reason: z.string().max(20_000).optional(), cause: z.string().optional() }),
};

/** Schemas of the decision signals that a workflow's machine takes. */
export function decisionsOf<const Name extends keyof typeof decisionSignals>(
  ...names: readonly Name[]
): Pick<typeof decisionSignals, Name> {
  // Each name is a key of what is picked.
  return Object.fromEntries(names.map((name) => [name, decisionSignals[name]])) as Pick<typeof decisionSignals, Name>;
}

type Stored<Type extends keyof EventPayloads> = { [Each in Type]: { readonly type: Each } & EventPayloads[Each] }[Type];

/** Machine events of all decision signals. */
export type DecisionSignal = Stored<keyof typeof decisionSignals>;
/** Machine event of a fork, which the engine sends when it continues a run at a point of another one. */
export type Forked = Stored<'RUN_FORKED'>;
/** Events that a machine may emit: the vocabulary of the log. */
export type RunFact = Stored<keyof EventPayloads>;
