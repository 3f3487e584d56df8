import { PassThrough } from 'node:stream';
import type { WorkflowInfo } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { waysOn } from './gate-lines.ts';
import type { CliIo } from '../io.ts';

const stream = new PassThrough();
const io: CliIo = { stdin: stream, stdout: stream, stderr: stream, env: {}, cwd: '/', program: 'autonomous' };

it('a conflict with the base is answered with the commands that resolve it in a clone, before those that decide the gate', () => {
  const branch = 'autonomous/r-1-login';
  const question = {
    question: 'How should it go on?',
    context: '',
    options: [`Take in what was pushed to ${branch}, and check it again`],
    responseType: 'single_choice' as const,
  };
  const gate = aGate({ kind: 'pause', reason: 'merge_conflict', decisions: ['answer', 'retry'], question });
  const run = aRun({ branch, gate });
  expect(waysOn(io, gate, { run, workflow: undefined })).toEqual([
    'In a clone of the project:',
    `  git fetch origin ${branch} main`,
    `  git switch ${branch}`,
    '  git merge origin/main',
    'Resolve the conflicts in the files that it names, then:',
    `  git commit --all && git push origin ${branch}`,
    'Then decide:',
    `  autonomous answer ${run.id} "…"`,
    `  autonomous retry ${run.id}`,
  ]);
});

it('a label of the workflow stands on a line above its command, which can be pasted as it is', () => {
  const gate = aGate({ kind: 'phase', decisions: ['retry'] });
  const workflow = { gates: { phase: { title: 'Phase', labels: { retry: { button: 'I fixed it' } } } } };
  expect(waysOn(io, gate, { run: aRun({ gate }), workflow: workflow as unknown as WorkflowInfo })).toEqual([
    'I fixed it:',
    `  autonomous retry ${gate.runId}`,
  ]);
});
