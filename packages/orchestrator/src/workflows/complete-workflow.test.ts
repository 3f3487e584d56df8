/** Parts of a workflow that its author leaves out. */
import { expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { z } from 'zod';
import { defineWorkflow } from '../core/definition.ts';
import { completeWorkflow } from './complete-workflow.ts';

it('describes gates whose kinds are named like members of every object', () => {
  const gate = (kind: string) => ({
    on: { RUN_CANCELLED: 'ended' },
    meta: { status: 'awaiting_approval', gate: { kind, decisions: [], summary: () => '' } },
  });
  const machine = createMachine({
    initial: 'constructor',
    states: {
      constructor: gate('constructor'),
      other: gate('toString'),
      paused: gate('pause'),
      ended: { type: 'final', meta: { status: 'cancelled' } },
    },
  });
  const signals = { RUN_CANCELLED: z.object({}) };
  const definition = defineWorkflow({ name: 'own', version: 1, description: '', machine, signals });
  const { gates } = completeWorkflow({ definition, activities: {} });
  expect(gates).toMatchObject({
    constructor: { title: 'Constructor', presents: 'message' },
    toString: { title: 'ToString', presents: 'message' },
    pause: { title: 'Pause', waiting: 'Paused' },
  });
});
