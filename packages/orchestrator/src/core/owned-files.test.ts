/** What workflows may declare as engine-owned files. */
import { InvalidRequest } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { defineWorkflow, ownedFilesOf, type WorkflowDefinition } from './definition.ts';

function define(change: Partial<WorkflowDefinition>): WorkflowDefinition {
  const machine = createMachine({ initial: 'end', states: { end: { type: 'final', meta: { status: 'completed' } } } });
  return defineWorkflow({
    name: 'statuses',
    version: 1,
    description: '',
    machine,
    signals: {},
    needsProject: true,
    ...change,
  });
}

it('are refused by name with their fault before the workflow can be started', () => {
  expect(() => define({ ownedFiles: ['ai/backlog.md', '.autonomous/specs/1.md'] })).toThrow(
    "Workflow 'statuses' cannot be started: its owned file '.autonomous/specs/1.md' is invalid: the server's own folder .autonomous is never a workflow's.",
  );
  expect(() => define({ ownedFiles: ['ai/backlog.md'], needsProject: false })).toThrow('set needsProject to true');
});

it('are the paths of the list, or those that the function gives for the input', () => {
  expect(ownedFilesOf(define({}))).toEqual([]);
  expect(ownedFilesOf(define({ ownedFiles: ['ai/backlog.md'] }))).toEqual(['ai/backlog.md']);
  const byInput = define({ ownedFiles: ({ table }) => [String(table)] });
  expect(ownedFilesOf(byInput, { table: 'ai/other.md' })).toEqual(['ai/other.md']);
});

it('are refused for an input with which the function throws or gives something else', () => {
  const failing = define({
    ownedFiles: () => {
      throw new Error('no table');
    },
  });
  expect(() => ownedFilesOf(failing)).toThrow("Workflow 'statuses' cannot own files with this input: no table.");
  // A function of plain JavaScript may give anything.
  const wrong = define({ ownedFiles: (() => 'ai/backlog.md') as never });
  expect(() => ownedFilesOf(wrong)).toThrow(InvalidRequest);
});
