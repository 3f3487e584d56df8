/** Parts of a workflow that its author leaves out. */
import { expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { z } from 'zod';
import { defineWorkflow } from '../core/definition.ts';
import { completeWorkflow, faultsOf } from './complete-workflow.ts';

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

const counting = defineWorkflow({
  name: 'counting',
  version: 1,
  description: '',
  machine: createMachine({ initial: 'ended', states: { ended: { type: 'final', meta: { status: 'cancelled' } } } }),
  signals: {},
  input: z.strictObject({ file: z.string(), names: z.array(z.string()).optional() }),
});

it('keeps the command and the projection that its author gives', () => {
  const projection = () => ({ sections: [] });
  const command = { arguments: ['file'], options: { names: 'ask' } };
  const value = { definition: counting, activities: {}, projection, command };
  expect(faultsOf(value)).toEqual([]);
  expect(completeWorkflow(value)).toMatchObject({ projection, command });
});

it('names what a command says of fields and trust modes that are not there', () => {
  const command = {
    arguments: ['path', 'names'],
    options: { other: null },
    review: { about: 'it', trustMode: 'result' },
  };
  expect(faultsOf({ definition: counting, activities: {}, command })).toEqual([
    "workflow 'counting': the argument 'names' of its command is neither a text nor a choice; make it an option.",
    "workflow 'counting': its command names the field 'path' of the input, which has file, names.",
    "workflow 'counting': its command names the field 'other' of the input, which has file, names.",
    "workflow 'counting': 'review' of its command sets the trust mode 'result', which 'trustModes' does not declare; add it.",
  ]);
  const misspelt = { name: 'Two Words', review: {} } as never;
  expect(faultsOf({ definition: counting, activities: {}, command: misspelt }).join('\n')).toContain('command');
});

it('names details that speak against an approval and are not shown', () => {
  const gates = {
    end: { title: 'End', presents: 'message', details: { risks: 'Risks' }, against: ['risks', 'risk'] },
  } as const;
  expect(faultsOf({ definition: counting, activities: {}, gates })).toEqual([
    "workflow 'counting': gate 'end' has 'risk' in 'against', which 'details' does not name; add it.",
  ]);
});
