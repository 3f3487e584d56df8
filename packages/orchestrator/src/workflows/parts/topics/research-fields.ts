/** The input that workflows which research a topic have in common. */
import { z } from 'zod';

/** Allowed names of a topic. A folder of the repository is named after it. */
const TOPIC = /^[\p{L}\p{N}][\p{L}\p{N} ._,()&+'-]{0,79}$/u;

/** Fields of the input of a run that researches a topic. */
export const researchFields = {
  topic: z
    .string()
    .trim()
    .min(1, { error: 'A topic has a name, such as "solid-state batteries". The question itself is the request.' })
    .regex(TOPIC, {
      error:
        "A topic is a name, not a path: it begins with a letter or digit and has up to 80 letters, digits, spaces and the characters . _ , ( ) & + ' -",
    })
    .refine((topic) => !topic.includes('..'), { error: "A topic is a name, not a path: it holds no '..'." })
    .meta({ title: 'Topic', description: 'A short name. The report goes to docs/research-<topic>/.' }),
  researchers: z.number().int().min(1).max(5).default(3).meta({
    title: 'Researchers a round',
    description: 'Agents that search the web at the same time, each with a question of its own.',
  }),
  analysts: z.number().int().min(0).max(2).default(1).meta({
    title: 'Repository analysts a round',
    description: 'Agents that read the project at the same time. In an empty repository there are none.',
  }),
  newFindings: z.number().int().min(1).max(20).default(2).meta({
    title: 'New findings',
    description: 'A round with fewer new findings is a quiet one.',
  }),
  quietRounds: z.number().int().min(1).max(10).default(3).meta({
    title: 'Quiet rounds',
    description: 'After so many quiet rounds in a row the research ends.',
  }),
};
