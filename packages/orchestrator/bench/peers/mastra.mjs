/**
 * Mastra with libSQL. The gate is a step that suspends; the approval resumes it.
 * Its storage of workflows sets `synchronous = NORMAL`: what was acknowledged last can be lost with the machine.
 */
import path from 'node:path';
import { Mastra } from '@mastra/core';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { LibSQLStore } from '@mastra/libsql';
import { z } from 'zod';
import { workload, Workload } from '../contest/contender.ts';

const anything = z.any();
const schemas = { inputSchema: anything, outputSchema: anything };

const planning = createStep({
  id: 'planning',
  ...schemas,
  execute: async ({ inputData }) => ({ id: inputData.id, plan: workload.plan(inputData.id) }),
});
const gate = createStep({
  id: 'gate',
  ...schemas,
  resumeSchema: anything,
  suspendSchema: anything,
  execute: async ({ inputData, resumeData, suspend }) =>
    resumeData ? inputData : suspend({ ask: 'Approve the plan' }),
});
const implementing = createStep({
  id: 'implementing',
  ...schemas,
  execute: async ({ inputData }) => ({ id: inputData.id, implementation: workload.implement(inputData.id) }),
});
const validating = createStep({
  id: 'validating',
  ...schemas,
  execute: async ({ inputData }) => ({ verdict: workload.validate(inputData.id) }),
});
const growing = createStep({
  id: 'growing',
  ...schemas,
  execute: async ({ inputData: { steps, messages } }) => ({ steps, messages: [...messages, workload.grow()] }),
});

/** @type {import('../contest/contender.ts').OpenContender} */
export async function open({ folder }) {
  const storage = new LibSQLStore({ id: 'bench', url: `file:${path.join(folder, 'mastra.db')}` });
  const change = createWorkflow({ id: 'change', ...schemas })
    .then(planning)
    .then(gate)
    .then(implementing)
    .then(validating)
    .commit();
  const growth = createWorkflow({ id: 'growth', ...schemas })
    .dountil(growing, async ({ inputData: { steps, messages } }) => messages.length >= steps)
    .commit();
  const mastra = new Mastra({ workflows: { change, growth }, storage, logger: false });
  await storage.init();
  const runOf = (workflow, id) => mastra.getWorkflow(workflow).createRun({ runId: id });
  return {
    async start(id) {
      const run = await runOf('change', id);
      expectStatus(id, await run.start({ inputData: { id } }), 'suspended');
    },
    async approve(id) {
      const run = await runOf('change', id);
      const result = await run.resume({ step: 'gate', resumeData: { approved: true } });
      expectStatus(id, result, 'success');
      Workload.check(id, result.result.verdict);
    },
    async grow(id, steps) {
      const run = await runOf('growth', id);
      expectStatus(id, await run.start({ inputData: { steps, messages: [] } }), 'success');
    },
    async close() {
      await storage.close();
    },
  };
}

function expectStatus(id, { status, error }, expected) {
  if (status !== expected) throw new Error(`Run ${id} is ${status} instead of ${expected}: ${error?.message ?? ''}`);
}
