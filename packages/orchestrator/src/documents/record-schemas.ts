/**
 * Schemas of the files that a project's repository holds under `.autonomous/`. `docs/schemas/` has them as JSON Schema. The formats
 * are frozen: a later version may add optional keys, and no key changes its meaning.
 */
import { projectConfigSchema, RUN_STATUSES, runConfigSchema } from '@autonomous/shared';
import { z } from 'zod';
import { eventLineSchema } from './event-log.ts';

const time = z.iso.datetime();
const text = z.string();
const count = z.number().int().min(0);
const commit = z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** Format of the record that this program writes, and the only one that it reads. Numbers are never used again. */
export const RECORD_FORMAT = 2;

/** `.autonomous/projects/<id>.json` on the branch of the record. */
export const recordedProjectSchema = z.strictObject({
  format: z.literal(RECORD_FORMAT),
  id: text.regex(/^[\w-]{1,100}$/),
  name: text.min(1),
  /** Absolute path or URL, without credentials. */
  repository: text.min(1),
  baseBranch: text.min(1),
  createdAt: time,
  /** Id of the repository at its forge. Absent: it is at none, or not known. */
  forgeId: text.min(1).optional(),
});
export type RecordedProject = z.infer<typeof recordedProjectSchema>;

const tipSchema = z.strictObject({
  /** Of the last event in `events.jsonl`. */
  sequence: count,
  /** Link of the run's hash chain after it. */
  hash: text,
  at: time,
  /** Id of the data folder whose server wrote it. */
  server: text,
  /** Proves to the server that wrote it that the sequence and the hash are its own. */
  seal: sha256,
  /** The same of the project and of all of `events.jsonl`: without it nothing is imported at a start. */
  logSeal: sha256,
  /** SHA-256 of `events.jsonl`. */
  log: sha256,
});

const uploadSchema = z.strictObject({
  /** SHA-256 of the content, and name of the file in `files/`. */
  id: sha256,
  /** As the person named it. */
  name: text,
  /** The content is not in the record, because something in it looks like a secret, or because it could not be searched. Absent: it is there. */
  isLeftOut: z.literal(true).optional(),
});

/** `runs/<id>/context.json`. */
export const runContextSchema = z.strictObject({
  runId: text,
  originalRequest: text,
  createdAt: time,
  completedAt: time.nullable(),
  config: runConfigSchema,
  clarifications: z.array(
    z.strictObject({
      question: text,
      context: text,
      response: text.nullable(),
      answeredAt: time.nullable(),
      answeredBy: text.nullable(),
      stage: text,
      status: z.enum(['pending', 'answered', 'ignored']),
    }),
  ),
  artifacts: z.array(
    z.strictObject({
      type: text,
      path: text.optional(),
      commitSha: text.optional(),
      filesChanged: z.array(text).optional(),
      approvedAt: time.optional(),
      approvedBy: text.optional(),
      approvalNotes: text.optional(),
      hash: text,
      version: count,
      scripted: z.boolean().optional(),
    }),
  ),
  decisions: z.array(z.strictObject({ topic: text, choice: text, rationale: text })),
  workflow: z.strictObject({ name: text, version: count }),
  parent: z.strictObject({ runId: text, key: text, depth: count }).optional(),
  forkedFrom: z.looseObject({ runId: text, at: count, spent: z.looseObject({}) }).optional(),
  explorationId: text.optional(),
  progress: z.strictObject({ done: count, total: count }).optional(),
  status: z.enum(RUN_STATUSES),
  branch: text,
  baseCommit: text.nullable(),
  codeTree: text.nullable(),
  stages: z.array(z.strictObject({ stage: text, startedAt: time, completedAt: time.optional() })),
  gates: z.array(
    z.strictObject({
      gateId: text,
      kind: text,
      decision: text,
      by: text,
      at: time,
      notes: text.optional(),
      accepted: z.array(text).optional(),
    }),
  ),
  evidence: z.array(
    z.looseObject({
      mode: z.enum(['as_is', 'base_tests']),
      codeTree: text,
      commit: text,
      passed: z.boolean(),
      commands: z.array(
        z.strictObject({ command: text, exitCode: z.number().int().nullable(), durationMs: z.number() }),
      ),
      recordedAt: time,
    }),
  ),
  fixAttempts: count,
  cost: z.looseObject({ inputTokens: count, outputTokens: count, calls: count }),
  scriptedModels: z.array(text),
  notices: z.array(text),
  format: z.literal(RECORD_FORMAT),
  /** Empty where the workflow needs no project. */
  projectId: text,
  userId: text,
  headCommit: text.nullable(),
  /** Commits of the run that the record's branch reaches: of a commit with a secret none. Absent in the copy on the run's own branch. */
  commits: z.array(commit).optional(),
  /** Files that people gave with answers. Absent: none. */
  uploads: z.array(uploadSchema).optional(),
  /** Absent in the copy on the run's own branch. */
  tip: tipSchema.optional(),
});
export type RecordedUpload = z.infer<typeof uploadSchema>;

/** Front matter of `.autonomous/memory.md`. People may add other keys. */
export const memoryFrontMatterSchema = z.looseObject({
  project: text.optional(),
  createdAt: z.iso.date().optional(),
  lastUpdated: z.iso.date().optional(),
  techStack: z.array(text).optional(),
  patterns: z.array(text).optional(),
});

/** By the file's name in `docs/schemas/`, without `.schema.json`. */
export const RECORD_SCHEMAS: Readonly<Record<string, { readonly title: string; readonly schema: z.ZodType }>> = {
  config: { title: '.autonomous/config.json: configuration of a project', schema: projectConfigSchema },
  memory: { title: '.autonomous/memory.md: its front matter', schema: memoryFrontMatterSchema },
  project: { title: '.autonomous/projects/<id>.json on the branch of the record', schema: recordedProjectSchema },
  context: { title: '.autonomous/runs/<id>/context.json', schema: runContextSchema },
  event: { title: 'A line of .autonomous/runs/<id>/events.jsonl', schema: eventLineSchema },
};

/** A schema as `docs/schemas/` has it. Only the configuration refuses keys that it does not know. */
export function jsonSchemaOf(name: string): object {
  const { title, schema } = RECORD_SCHEMAS[name] ?? {};
  if (schema === undefined) throw new Error(`there is no schema '${name}'`);
  const json = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (name !== 'config' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // The format says it.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return { ...json, title };
}
