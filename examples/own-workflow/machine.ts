/** Writes an invoice, lets a person look at it, and reminds the customer until the money is there. An ordinary XState machine. */
import { activity, defineWorkflow, type StateMeta } from '@autonomous/orchestrator/engine';
import { assign, emit, setup } from 'xstate';
import { z } from 'zod';

const DAY_MS = 24 * 60 * 60_000;

/** What a run is started with: `POST /api/runs {"workflow": "invoice", "input": {…}}`. */
export const input = z.strictObject({
  customer: z.string().min(1).max(200),
  cents: z.number().int().positive(),
  /** Absent: a person is asked. */
  address: z.string().min(1).max(500).optional(),
  remindAfterMs: z
    .number()
    .int()
    .positive()
    .default(14 * DAY_MS),
});

export interface Invoice {
  readonly customer: string;
  readonly cents: number;
  readonly address: string;
  /** What a person wants to have changed; empty at first. */
  readonly wishes: readonly string[];
}

interface Context {
  readonly invoice: Invoice;
  readonly remindAfterMs: number;
  readonly file: string;
  readonly reminders: number;
}

/** Everything that people and programs may tell a run, with who said it. */
const by = z.string();
const gateId = z.string().optional();
const signals = {
  CLARIFICATION_ANSWERED: z.object({ by, gateId, response: z.string().min(1).max(500) }),
  APPROVAL_GRANTED: z.object({ by, gateId, notes: z.string().optional() }),
  APPROVAL_REJECTED: z.object({ by, gateId, feedback: z.string() }),
  PAYMENT_RECEIVED: z.object({ by, cents: z.number().int().positive() }),
  RETRY_REQUESTED: z.object({ by, gateId }),
  RUN_CANCELLED: z.object({ by, reason: z.string().optional() }),
};
type Signal = {
  [Type in keyof typeof signals]: { readonly type: Type } & z.infer<(typeof signals)[Type]>;
}[keyof typeof signals];

const machine = setup({
  types: {
    context: {} as Context,
    input: {} as { readonly input: z.infer<typeof input> },
    events: {} as Signal,
    emitted: {} as { readonly type: 'INVOICE_WRITTEN'; readonly file: string },
    meta: {} as StateMeta<Context>,
  },
  // What happens outside is declared here by its types, and carried out by activities.ts.
  actors: {
    writeInvoice: activity<Invoice, { file: string }>(),
    remindCustomer: activity<{ customer: string; file: string; count: number }, { sent: boolean }>(),
  },
  delays: { reminder: ({ context }) => context.remindAfterMs },
  guards: {
    isAddressKnown: ({ context }) => context.invoice.address !== '',
    isEnough: ({ context, event }) => event.type === 'PAYMENT_RECEIVED' && event.cents >= context.invoice.cents,
  },
}).createMachine({
  id: 'invoice',
  initial: 'starting',
  context: ({ input: { input: wanted } }) => ({
    invoice: { customer: wanted.customer, cents: wanted.cents, address: wanted.address ?? '', wishes: [] },
    remindAfterMs: wanted.remindAfterMs,
    file: '',
    reminders: 0,
  }),
  on: { RUN_CANCELLED: '.cancelled' },
  states: {
    starting: { always: [{ guard: 'isAddressKnown', target: 'writing' }, { target: 'askingAddress' }] },

    askingAddress: {
      meta: {
        status: 'awaiting_clarification',
        stage: 'writing',
        gate: {
          kind: 'clarification',
          decisions: ['answer'],
          summary: ({ invoice }) => `Where does ${invoice.customer} live?`,
          facts: ({ invoice }) => ({
            question: {
              question: `Where does ${invoice.customer} live?`,
              context: 'The invoice needs an address.',
              responseType: 'text',
            },
            attemptNumber: 1,
            details: {},
          }),
        },
      },
      on: {
        CLARIFICATION_ANSWERED: {
          target: 'writing',
          actions: assign({ invoice: ({ context, event }) => ({ ...context.invoice, address: event.response }) }),
        },
      },
    },

    writing: {
      meta: { status: 'running', stage: 'writing' },
      invoke: {
        id: 'write',
        src: 'writeInvoice',
        input: ({ context }) => context.invoice,
        onDone: {
          target: 'approving',
          actions: [
            assign({ file: ({ event }) => event.output.file }),
            emit(({ event }) => ({ type: 'INVOICE_WRITTEN', file: event.output.file })),
          ],
        },
        onError: 'stuck',
      },
    },

    approving: {
      meta: {
        status: 'awaiting_approval',
        stage: 'writing',
        gate: {
          kind: 'invoice',
          decisions: ['approve', 'reject'],
          summary: ({ invoice }) => `Send the invoice over ${(invoice.cents / 100).toFixed(2)} to ${invoice.customer}?`,
          facts: ({ file }) => ({ details: { file } }),
        },
      },
      on: {
        APPROVAL_GRANTED: 'waiting',
        APPROVAL_REJECTED: {
          target: 'writing',
          actions: assign({
            invoice: ({ context, event }) => ({
              ...context.invoice,
              wishes: [...context.invoice.wishes, event.feedback],
            }),
          }),
        },
      },
    },

    // Waits as long as it takes: the timer is a row in the database, and the run needs no memory.
    waiting: {
      meta: { status: 'running', stage: 'payment' },
      after: { reminder: 'reminding' },
      on: { PAYMENT_RECEIVED: { guard: 'isEnough', target: 'paid' } },
    },

    reminding: {
      meta: { status: 'running', stage: 'payment' },
      invoke: {
        id: 'remind',
        src: 'remindCustomer',
        input: ({ context }) => ({
          customer: context.invoice.customer,
          file: context.file,
          count: context.reminders + 1,
        }),
        onDone: { target: 'waiting', actions: assign({ reminders: ({ context }) => context.reminders + 1 }) },
        onError: 'stuck',
      },
      on: { PAYMENT_RECEIVED: { guard: 'isEnough', target: 'paid' } },
    },

    // All attempts of an activity are used up: a person mends what is wrong and says so.
    stuck: {
      meta: {
        status: 'paused',
        gate: {
          kind: 'pause',
          decisions: ['retry'],
          summary: () => 'Something outside does not work; mend it and retry',
          facts: () => ({ reason: 'agent_failed', message: 'Something outside does not work', details: {} }),
        },
      },
      on: {
        RETRY_REQUESTED: [{ guard: ({ context }) => context.file === '', target: 'writing' }, { target: 'reminding' }],
      },
    },

    paid: {
      type: 'final',
      meta: { status: 'completed', message: ({ invoice }) => `${invoice.customer} has paid` },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

export const invoice = defineWorkflow({
  name: 'invoice',
  version: 1,
  description: 'Writes an invoice and sees that it is paid',
  machine,
  signals,
  input,
});
