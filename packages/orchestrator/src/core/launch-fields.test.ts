/** Fields of a definition that name fields of its input, or events. */
import { expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { z } from 'zod';
import { defineWorkflow, type WorkflowDefinition } from './definition.ts';
import { createRegistry } from './registry.ts';

function define(change: Partial<WorkflowDefinition>): WorkflowDefinition {
  const machine = createMachine({ initial: 'end', states: { end: { type: 'final', meta: { status: 'completed' } } } });
  const input = z.strictObject({ file: z.string(), item: z.string().optional() });
  return defineWorkflow({
    name: 'table',
    version: 1,
    description: '',
    machine,
    signals: {},
    input,
    needsProject: true,
    ...change,
  });
}

it('an exclusive field that the input does not have is refused by its name', () => {
  expect(define({ exclusiveInput: ['file'] }).exclusiveInput).toEqual(['file']);
  expect(() => define({ exclusiveInput: ['path'] })).toThrow(
    "Workflow 'table' cannot be started: its exclusiveInput names 'path', which is no field of its input; it has file, item.",
  );
  expect(() => define({ exclusiveInput: ['file'], needsProject: false })).toThrow('set needsProject to true');
});

it('a default request that cannot be filled in is refused with its fault', () => {
  expect(define({ defaultRequest: 'Work through {file}[: {item}]' }).defaultRequest).toBeDefined();
  expect(() => define({ defaultRequest: 'Work through {file' })).toThrow(
    'its defaultRequest has a bracket without its other half',
  );
});

it('own events are read where a definition names them, those of every workflow always', () => {
  const registry = createRegistry([define({ readsEvents: ['ROW_SPLIT'] }), define({ version: 2 })]);
  const types = ['ROW_SPLIT', 'ROW_ADDED', 'NOTICE', 'RUN_CONFIGURED', 'APPROVAL_GRANTED'];
  expect(types.filter((type) => !registry.isRead(type))).toEqual(['ROW_ADDED']);
});
