/** As `changes-in-turn`, with a person who looks at the whole after the last change: what is missing is made as one more change. */
import { approvalGate, approves, type AttemptRunContext, attemptWorkflow } from '@autonomous/orchestrator/workflow';
import { assign } from 'xstate';
import { z } from 'zod';

const input = z.strictObject({
  changes: z.array(z.string().trim().min(1).max(2_000)).min(1).max(20).meta({ title: 'Changes, in their order' }),
});
type Change = { readonly id: string; readonly title: string; readonly text: string };
interface Own {
  readonly left: readonly Change[];
  /** Changes so far. Each has its number in its id. */
  readonly changes: number;
  readonly skipped: readonly string[];
}
type Context = AttemptRunContext<z.output<typeof input>, Own, Change>;
type Rejected = { readonly event: { readonly feedback: string } };

const changeOf = (text: string, number: number): Change => ({
  id: `change-${number}`,
  title: text.slice(0, 60),
  text,
});

/** The code that the gate shows: an approval has to name it. */
const shownCode = ({ codeTree }: Context) => ({ codeTree });

export const reviewedChanges = attemptWorkflow({
  name: 'reviewed-changes',
  description: 'Makes several changes, one on top of the other, and asks a person whether something is missing',
  input,
  units: 'changes',
  begin: ({ changes }): Own => ({
    left: changes.map((text, index) => changeOf(text, index + 1)),
    changes: changes.length,
    skipped: [],
  }),
  next: ({ own }): Change | undefined => own.left[0],
  request: ({ request }, { text }) => `${text}\n\nIt is one part of: ${request}`,
  settle({ own }, { title }, end) {
    const left = own.left.slice(1);
    if (end.kind === 'merged') return { ...own, left };
    return { ...own, left, skipped: [...own.skipped, `${title} is left out: ${end.why}`] };
  },
  failures: ({ skipped }) => skipped,
  left: ({ left, skipped }) => left.length + skipped.length,

  gates: {
    whole: {
      title: 'Whole',
      waiting: 'Whole to look at',
      presents: 'changes',
      needs: { reject: 'feedback' },
      labels: { reject: { button: 'One more change', field: 'What is missing?' } },
      details: { skipped: 'Left out' },
    },
  },

  // Its own states lie between the last attempt and the checks of the whole: the last one leads to `validation`, or to `choosing`.
  after(base) {
    const setup = base.extend({
      guards: { namesTheCode: approves(shownCode) },
      actions: {
        addChange: assign(({ context: { own } }, { text }: { readonly text: string }) => ({
          own: { ...own, left: [changeOf(text, own.changes + 1)], changes: own.changes + 1 },
        })),
      },
    });
    return {
      setup,
      initial: 'looking',
      states: {
        looking: setup.createStateConfig({
          meta: approvalGate<Context>({
            stage: 'implementation',
            kind: 'whole',
            decisions: ['approve', 'reject'],
            summary: ({ merges }) => `Changes made: ${merges}. Is something missing?`,
            shows: shownCode,
            details: ({ own }) => ({ skipped: [...own.skipped] }),
          }),
          on: {
            APPROVAL_GRANTED: { guard: 'namesTheCode', target: 'validation' },
            APPROVAL_REJECTED: {
              target: 'choosing',
              actions: { type: 'addChange', params: ({ event }: Rejected) => ({ text: event.feedback }) },
            },
          },
        }),
      },
    };
  },
});

export const workflows = [reviewedChanges];
