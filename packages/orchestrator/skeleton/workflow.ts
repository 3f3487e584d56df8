/** Makes several changes, each by a run of its own on top of those before it. The reason of a failed attempt is given to the next one. */
import { attemptWorkflow } from '@autonomous/orchestrator/workflow';
import { z } from 'zod';

const input = z.strictObject({
  changes: z.array(z.string().trim().min(1).max(2_000)).min(1).max(20).meta({ title: 'Changes, in their order' }),
  attempts: z.number().int().min(1).max(5).default(2).meta({ title: 'Attempts at a change' }),
});

interface Change {
  readonly id: string;
  readonly title: string;
  readonly failed: number;
  readonly hint: string;
}

interface Own {
  readonly left: readonly Change[];
  readonly skipped: readonly string[];
}

const workflow = attemptWorkflow({
  name: 'my-workflow',
  description: 'Makes several changes, one on top of the other',
  input,
  units: 'changes',

  // The workflow's own data at the start.
  begin: ({ changes }): Own => ({
    left: changes.map((title, index) => ({ id: `change-${index + 1}`, title, failed: 0, hint: '' })),
    skipped: [],
  }),

  // The unit of work to begin now.
  next: ({ own }): Change | undefined => own.left[0],

  // The request of the child run that attempts it.
  request: ({ request }, { title, hint }) =>
    [title, `It is one part of: ${request}`, ...(hint === '' ? [] : [`An earlier attempt failed:\n${hint}`])].join(
      '\n\n',
    ),

  // The workflow's own data after an attempt.
  settle({ own, input: { attempts } }, change, end) {
    const [, ...others] = own.left;
    if (end.kind === 'merged') return { ...own, left: others };
    const failed = change.failed + 1;
    if (failed < attempts && end.isCancelled !== true)
      return { ...own, left: [{ ...change, failed, hint: end.hint }, ...others] };
    return { left: others, skipped: [...own.skipped, `${change.title} is left out: ${end.why}`] };
  },

  failures: ({ skipped }) => skipped,
  left: ({ left, skipped }) => left.length + skipped.length,
});

export const workflows = [workflow];
