/** The shape of a workflow's value as a schema: which parts there are, and which fields each has. */
import { DECISION_FIELDS, DECISIONS } from '@autonomous/shared';
import { z } from 'zod';

const text = z.string();
const fieldByDecision = z.partialRecord(z.enum(DECISIONS), z.enum(DECISION_FIELDS)).optional();

/** Whether titles are empty, and names known, is checked with the rest of the value. */
const SECTIONS: Readonly<Record<string, z.ZodType>> = {
  name: text,
  title: text.min(1),
  roles: z.array(
    z.strictObject({
      role: z.looseObject({ name: text }),
      title: text,
      configuredAs: text.optional(),
      defaultModel: text.min(1).optional(),
      defaultsOf: text.optional(),
    }),
  ),
  stages: z.array(
    z.strictObject({
      name: text.min(1),
      title: text.min(1),
      timeoutMinutes: z.number().positive().optional(),
      role: text.optional(),
    }),
  ),
  trustModes: z.array(
    z.strictObject({ name: text.min(1), title: text.min(1), description: text, default: z.enum(['auto', 'manual']) }),
  ),
  gates: z.record(
    text,
    z.strictObject({
      title: text,
      presents: z.unknown(),
      waiting: text.optional(),
      document: text.optional(),
      report: text.optional(),
      isFailure: z.boolean().optional(),
      takesFilesOn: z.enum(DECISIONS).optional(),
      needs: fieldByDecision,
      offers: fieldByDecision,
      labels: z
        .partialRecord(z.enum(DECISIONS), z.strictObject({ button: text.min(1), field: text.min(1).optional() }))
        .optional(),
      details: z.record(text, text.min(1)).optional(),
      against: z.array(z.string()).optional(),
    }),
  ),
  documents: z.record(text, z.strictObject({ title: text, drawnAs: z.unknown() })),
  children: z.array(z.looseObject({})),
  recordFiles: z.function(),
  projection: z.function(),
  // Texts and tones are checked with the names that they use.
  events: z.record(text, z.looseObject({})),
  progressWord: text.min(1),
  command: z.strictObject({
    name: text.regex(/^[a-z][a-z0-9-]*$/).optional(),
    description: text.min(1).optional(),
    arguments: z.array(text).optional(),
    takesRequest: z.boolean().optional(),
    asks: z.strictObject({ text: text.min(1), example: text.min(1) }).optional(),
    options: z.record(text, text.regex(/^[a-z][a-z0-9-]*$/).nullable()).optional(),
    endsWhen: text.optional(),
    review: z.strictObject({ about: text.min(1), trustMode: text }).optional(),
    ownRepository: z.boolean().optional(),
  }),
};
/** Parts that are checked elsewhere: what they hold are functions and machines. */
const OTHERS = ['definition', 'versions', 'activities'];

export interface ShapeFault {
  /** The part of the value that is wrong, such as `stages`. */
  readonly section: string;
  /** To be read after the name of the workflow. */
  readonly message: string;
}

/** Everything in a value that is of another shape than a workflow's. */
export function shapeFaults(value: Readonly<Record<string, unknown>>): readonly ShapeFault[] {
  return Object.entries(value).flatMap(([section, part]): ShapeFault[] => {
    if (OTHERS.includes(section) || part === undefined) return [];
    if (!Object.hasOwn(SECTIONS, section)) {
      const known = [...Object.keys(SECTIONS), ...OTHERS].join(', ');
      return [{ section, message: `'${section}' is not a part of a workflow; there are ${known}.` }];
    }
    const parsed = SECTIONS[section]?.safeParse(part);
    return (parsed?.error?.issues ?? []).map((issue) => ({ section, message: messageOf(section, issue) }));
  });
}

function messageOf(section: string, issue: z.core.$ZodIssue): string {
  const place = [section, ...issue.path].map(String).join('.');
  return issue.code === 'unrecognized_keys'
    ? `'${place}' has unknown fields: ${issue.keys.join(', ')}. Remove or rename them.`
    : `'${place}' is wrong: ${issue.message}.`;
}
