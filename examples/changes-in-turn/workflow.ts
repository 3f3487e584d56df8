/** Makes several changes, each as a run of its own on top of those before it. What fails is told to the next attempt. */
import { attemptWorkflow } from '@autonomous/orchestrator/workflow';
import { z } from 'zod';

const input = z.strictObject({
  changes: z.array(z.string().trim().min(1).max(2_000)).min(1).max(20).meta({ title: 'Changes, in their order' }),
  attempts: z.number().int().min(1).max(5).default(2).meta({ title: 'Attempts at a change' }),
});

interface Change {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Attempts that came to nothing. */
  readonly failed: number;
  /** Told to the next attempt; empty at first. */
  readonly hint: string;
}

interface Own {
  readonly left: readonly Change[];
  readonly skipped: readonly string[];
}

export const changesInTurn = attemptWorkflow({
  name: 'changes-in-turn',
  description: 'Makes several changes, one on top of the other',
  input,
  units: 'changes',

  begin: ({ changes }): Own => ({
    left: changes.map((text, index) => ({
      id: `change-${index + 1}`,
      title: text.slice(0, 60),
      text,
      failed: 0,
      hint: '',
    })),
    skipped: [],
  }),

  next: ({ own }): Change | undefined => own.left[0],

  request: ({ request }, { text, hint }) =>
    [text, `It is one part of: ${request}`, ...(hint === '' ? [] : [`An earlier attempt failed:\n${hint}`])].join(
      '\n\n',
    ),

  settle({ own, input: { attempts } }, change, end) {
    const others = own.left.slice(1);
    if (end.kind === 'merged') return { ...own, left: others };
    const failed = change.failed + 1;
    if (failed < attempts && end.isCancelled !== true)
      return { ...own, left: [{ ...change, failed, hint: end.hint }, ...others] };
    return { left: others, skipped: [...own.skipped, `${change.title} is left out: ${end.why}`] };
  },

  failures: ({ skipped }) => skipped,

  left: ({ left, skipped }) => left.length + skipped.length,
});

export const workflows = [changesInTurn];
