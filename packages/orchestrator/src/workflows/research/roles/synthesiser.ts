/** The synthesiser: writes the report from the findings of each round, and says what is to be asked next. */
import { z } from 'zod';
import {
  COMMON_RULES,
  type CommonInput,
  fixedPart,
  noteParts,
  requestPart,
  resultPart,
} from '../../../roles/prompt-parts.ts';
import { callLine, type Role } from '../../../roles/role.ts';
import { DIRECTION_KINDS, type ReportUpdate } from '../types.ts';
import { LONGEST_TEXTS, MOST_OPEN_QUESTIONS } from '../report/report-texts.ts';

const finding = z.string().regex(/^F[1-9][0-9]{0,4}$/);
const theme = z.string().regex(/^T[1-9][0-9]{0,4}$/);
const conflict = z.string().regex(/^C[1-9][0-9]{0,4}$/);

export const updateSchema = z.object({
  executiveSummary: z
    .string()
    .trim()
    .max(LONGEST_TEXTS.executiveSummary)
    .optional()
    .describe('The whole text; leave it out where it stays as it is'),
  background: z.string().trim().max(LONGEST_TEXTS.background).optional().describe('As above'),
  themes: z
    .array(
      z.object({
        id: theme.nullable().describe('Of the theme that is rewritten; null for a new one'),
        title: z.string().trim().min(1).max(120),
        text: z.string().trim().min(1).max(LONGEST_TEXTS.theme),
        findings: z.array(finding).max(40).describe('New findings that belong here'),
      }),
    )
    .max(6)
    .describe('Only the themes that change'),
  analysis: z.string().trim().max(LONGEST_TEXTS.analysis).optional().describe('As above'),
  conflicts: z
    .array(
      z.object({
        id: conflict.nullable().describe('Of the conflict that changes; null for a new one'),
        about: z.string().trim().min(1).max(200),
        positions: z
          .array(z.object({ text: z.string().trim().min(1).max(500), findings: z.array(finding).min(1).max(10) }))
          .min(2)
          .max(4),
        resolution: z
          .string()
          .trim()
          .min(1)
          .max(600)
          .nullable()
          .describe('Which position holds and why; null where that cannot be told from the findings'),
      }),
    )
    .max(6),
  openQuestions: z
    .array(z.string().trim().min(1).max(300))
    .max(MOST_OPEN_QUESTIONS)
    .describe('All of them, the most important first'),
  directions: z
    .array(z.object({ kind: z.enum(DIRECTION_KINDS), question: z.string().trim().min(1).max(600) }))
    .max(7)
    .describe('Questions for the agents of the next round, each to be answered by itself'),
});

export interface SynthesiserInput extends CommonInput {
  /** The outline, the texts that the findings touch, and the open questions: bounded. */
  readonly report: string;
  /** New findings, contradictions and summaries: bounded. */
  readonly news: string;
  readonly task: string;
}

export const synthesiser: Role<SynthesiserInput, ReportUpdate> = {
  name: 'synthesiser',
  version: 1,
  tools: [],
  maxSteps: 6,
  result: updateSchema,
  instructions: `You write a research report together with agents who search and read. You see what they found, never the pages
themselves. After each round you work the new findings into the report and say what is to be asked next.

# The report
- Executive summary: the answer to the request, one to two pages at the end.
- Background: the field, and why the question matters.
- Themes: subsections of the key findings, by subject and not by time. At most 12 of them: widen one rather than begin another.
- Analysis: what follows from the findings together; where they contradict each other and which holds.
- Conflicts: each contradiction of sources with both positions, and a resolution only where the findings give one.
- Open questions.

# How to write
- Plain text in paragraphs; "- " begins an item of a list. No headings, no tables, no LaTeX.
- Each sentence that says something of the world names its findings: "… [F3]." or "… [F3][F7]." Only ids that you were shown.
- A number, date or amount stands in a finding that the sentence names. A sentence that no finding supports is left out of the
  report, and you are told.
- Rewrite a text where new findings change it, and keep what stays true.

# Questions for the next round
Each is answered by one agent that knows the request and the question, and nothing else. Ask what decides the answer to the request, what
only one source says, what contradicts something, and what the open questions name. Do not ask again what is known.

${COMMON_RULES}`,
  parts: (input) => [
    fixedPart('call', callLine('synthesiser', input.call)),
    requestPart(input),
    resultPart('report', 'The report as it stands:', input.report, 60_000),
    ...(input.news === '' ? [] : [resultPart('news', 'What this round brought:', input.news, 40_000)]),
    ...noteParts(input),
    fixedPart('task', input.task),
  ],
};
