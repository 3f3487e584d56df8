/** People who say something to a run while an agent of it is at work, while it waits, and around the end of its server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TranscriptEntry } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import { aScript, aServer, runs, tool, when } from '../fixtures/orchestrator.fixture.ts';
import { RunUnderTest } from '../fixtures/run-under-test.fixture.ts';

const WAIT = 'until [ -f go ]; do sleep 0.05; done';

/** Kinds and texts of the transcript of one role. */
async function transcriptOf(client: Client, runId: string, role: string): Promise<readonly TranscriptEntry[]> {
  return (await client.getTranscript(runId)).filter((entry) => entry.role === role);
}

function partsOf(entry: TranscriptEntry | undefined): readonly string[] {
  return ((entry?.data?.['parts'] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name);
}

it('a message reaches the agent that is at work at its next step, and every later call among its notes', async () => {
  const server = await aServer({
    script: aScript({
      implementer: [
        {
          turns: [
            { tools: [tool('run', { command: WAIT })] },
            { tools: [tool('write', { path: 'feature.sh', content: 'echo feature\n' })] },
            { tools: [tool('finish', { summary: 'Done.' })] },
          ],
        },
      ],
      validator: [
        when('Mind the gap.', {
          turns: [
            { tools: [tool('finish', { verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '' })] },
          ],
        }),
      ],
    }),
  });
  const run = await server.launch();
  await server.said(run.id, WAIT);
  await server.client.sendMessage(run.id, 'Mind the gap.');
  await writeFile(path.join(server.dataFolder, 'work', run.id, 'implementation', 'go'), '');
  await server.until(run, { status: 'completed' });

  const said = await transcriptOf(server.client, run.id, 'implementer');
  const heard = said.filter(({ kind }) => kind === 'message');
  expect(heard).toMatchObject([{ text: 'Mind the gap.', data: { by: 'local' } }]);
  const at = said.findIndex(({ kind }) => kind === 'message');
  expect(said.findIndex(({ kind, text }) => kind === 'tool_call' && text.startsWith('write'))).toBeGreaterThan(at);
  const validator = (await transcriptOf(server.client, run.id, 'validator')).find(({ kind }) => kind === 'prompt');
  expect(partsOf(validator)).toContain('note 1, message');
});

it('a message that comes while the agent ends its work is heard before the end is taken', async () => {
  const server = await aServer({
    script: aScript({
      implementer: [
        {
          turns: [
            { tools: [tool('write', { path: 'feature.sh', content: 'echo feature\n' })] },
            { tools: [tool('run', { command: WAIT }), tool('finish', { summary: 'Done.' })] },
          ],
        },
      ],
    }),
  });
  const run = await server.launch();
  await server.said(run.id, WAIT);
  await server.client.sendMessage(run.id, 'One more thing.');
  await writeFile(path.join(server.dataFolder, 'work', run.id, 'implementation', 'go'), '');
  await server.until(run, { status: 'completed' });
  const said = await transcriptOf(server.client, run.id, 'implementer');
  expect(said.filter(({ kind }) => kind === 'message')).toHaveLength(1);
  // The turn was played twice, since its end was not taken the first time.
  expect(said.filter(({ kind, data }) => kind === 'tool_call' && data?.['tool'] === 'finish')).toHaveLength(2);
});

it('a message to a run that waits is kept for its next call; one that has ended takes none', async () => {
  const server = await aServer({
    script: aScript({ implementer: [when('Now it works', runs('echo "echo feature" > feature.sh'))] }),
  });
  const run = await server.launch();
  await server.until(run, { gate: 'pause' });
  await server.client.sendMessage(run.id, 'Now it works');
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  // It was told in the prompt, and not a second time as news.
  const said = await transcriptOf(server.client, run.id, 'implementer');
  expect(said.filter(({ kind }) => kind === 'message')).toEqual([]);
  await expect(server.client.sendMessage(run.id, 'Too late')).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining('already ended'),
  });
});

it('a message survives the death of its server: the call that begins anew has it in its prompt', async () => {
  const compileCache = await mkdtemp(path.join(tmpdir(), 'autonomous-compiled-'));
  onTestFinished(() => rm(compileCache, { recursive: true, force: true }));
  const run = await RunUnderTest.launch({
    compileCache,
    stall: { role: 'implementer', call: 1, turn: 1 },
    config: { trustMode: { planning: 'auto' } },
  });
  onTestFinished(() => run.remove());
  await run.untilProgress('implementer', 'prompt', /^implementer 1, /);
  // Whoever reads the transcript has it written, too.
  expect(await transcriptOf(run.client, run.id, 'implementer')).toHaveLength(1);
  await run.client.sendMessage(run.id, 'Mind the gap.');
  expect(await run.kill()).toMatchObject({ activities: ['implementer'] });
  await run.restart();
  await run.until('CLARIFICATION_REQUESTED');

  const prompts = (await transcriptOf(run.client, run.id, 'implementer')).filter(({ kind }) => kind === 'prompt');
  expect(prompts.map((entry) => partsOf(entry).includes('note 1, message'))).toEqual([false, true]);
  await run.decide();
  await run.untilProgress('implementer', 'prompt', /^implementer 2, /);
  const next = (await transcriptOf(run.client, run.id, 'implementer')).findLast(({ kind }) => kind === 'prompt');
  expect(partsOf(next).filter((name) => name.endsWith(', message'))).toEqual(['note 1, message']);
});
