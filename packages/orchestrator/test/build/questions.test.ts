/** Questions of agents, end to end: every kind of answer, the limit, and questions that are ignored. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  aPlan,
  aScript,
  aServer,
  asks,
  finish,
  passes,
  runs,
  tool,
  when,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

describe('an answer', () => {
  it('in words reaches the agent, is a decision of the run and stands in the memory', async () => {
    const server = await aServer({
      script: aScript({
        planner: [
          when('Answer: Keep it short', aPlan({ title: 'Short' })),
          asks({ question: 'How long?', responseType: 'text' }),
        ],
      }),
    });
    const run = await server.launch('Add the feature', { trustMode: { planning: 'auto' }, git: { autoMerge: true } });
    const { gate } = await server.until(run, { gate: 'clarification' });
    expect(gate).toMatchObject({
      stage: 'planning',
      decisions: ['answer', 'ignore'],
      question: { question: 'How long?', responseType: 'text' },
    });
    expect(await server.client.listClarifications('pending')).toMatchObject([{ id: gate?.id, attemptNumber: 1 }]);
    await expect(server.decide(run, { decision: 'answer', response: '   ' })).rejects.toMatchObject({ status: 400 });
    await server.decide(run, { decision: 'answer', response: 'Keep it short' });
    await server.until(run, { status: 'completed' });
    expect(await server.client.listClarifications('answered')).toMatchObject([
      { response: 'Keep it short', answeredBy: 'local' },
    ]);
    expect(await server.file('main', '.autonomous/memory.md')).toContain(
      '- How long?: Keep it short (answered by a person)',
    );
  });

  it('by choice is one of the options, or several where several may be chosen', async () => {
    const options = ['Google', 'GitHub', 'GitLab'];
    const server = await aServer({
      script: aScript({
        implementer: [
          when('Answer: Google, GitLab', writes({ 'feature.sh': 'echo several\n' })),
          when(
            'Answer: GitHub',
            asks({ question: 'Which else?', options, responseType: 'multiple_choice' }, [
              tool('read', { path: 'half.sh' }),
            ]),
          ),
          asks({ question: 'Which?', options, responseType: 'single_choice' }, [
            tool('write', { path: 'half.sh', content: 'half\n' }),
          ]),
        ],
      }),
    });
    const run = await server.launch();
    await server.until(run, { gate: 'clarification' });
    for (const response of ['Bitbucket', 'github', ['GitHub', 'Google'], []]) {
      await expect(server.decide(run, { decision: 'answer', response })).rejects.toMatchObject({
        status: 400,
        code: 'invalid_request',
      });
    }
    await expect(server.decide(run, { decision: 'answer', response: 'Bitbucket' })).rejects.toMatchObject({
      message: "'Bitbucket' is not an option; the options are 'Google', 'GitHub', 'GitLab'.",
      problem: { faults: [{ path: 'response' }] },
    });
    await server.decide(run, { decision: 'answer', response: 'GitHub' });
    const second = await server.until(run, { gate: 'clarification' });
    expect(second.clarificationCount).toBe(2);
    await expect(server.decide(run, { decision: 'answer', response: ['Google', 'Bitbucket'] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("'Bitbucket' is not an option"),
    });
    await server.decide(run, { decision: 'answer', response: ['Google', 'GitLab'] });
    await server.until(run, { status: 'completed' });
    expect(await server.payloads(run.id, 'CLARIFICATION_ANSWERED')).toMatchObject([
      { response: 'GitHub', choices: ['GitHub'] },
      { response: 'Google, GitLab', choices: ['Google', 'GitLab'] },
    ]);
    // What was done before the questions was kept, and gone on from.
    expect(await server.file(run.branch, 'half.sh')).toBe('half\n');
    expect(await server.file(run.branch, 'feature.sh')).toBe('echo several\n');
    const checkpoints = await server.git('log', '--format=%s', run.branch);
    expect(checkpoints).toContain("Checkpoint: work before the question 'Which?'");
  });

  it('by files lies under /uploads, where each role can read it and nobody can write', async () => {
    const logo = new TextEncoder().encode('<svg>the logo</svg>\n');
    const id = createHash('sha256').update(logo).digest('hex');
    const file = `/uploads/${id.slice(0, 8)}-my_logo.svg`;
    const script = aScript({
      planner: [
        when(`Files: ${file}`, {
          turns: [
            {
              tools: [
                tool('read', { path: file }),
                tool('list', { path: '/uploads' }),
                tool('search', { pattern: 'the logo', path: '/uploads' }),
              ],
            },
            ...aPlan().turns,
          ],
        }),
        asks({ question: 'Which logo?', responseType: 'file_upload' }),
      ],
      implementer: [
        {
          turns: [
            { tools: [tool('write', { path: file, content: 'forged' })] },
            { tools: [tool('run', { command: `echo forged > ${file}` })] },
            { tools: [tool('run', { command: `cp ${file} logo.svg` })] },
            ...finish({ summary: 'Took the logo.' }).turns,
          ],
        },
      ],
    });
    const server = await aServer({ script });
    const run = await server.launch('Show the logo');
    await server.until(run, { gate: 'clarification' });
    await expect(server.decide(run, { decision: 'answer', response: id })).rejects.toMatchObject({
      status: 400,
      message: `There is no upload '${id}'. Send the file to POST /api/uploads first and answer with its id.`,
    });
    await server.client.upload('my logo.svg', logo);
    await server.decide(run, { decision: 'answer', response: [id] });
    await server.until(run, { status: 'completed' });

    const told = (await server.client.getTranscript(run.id))
      .filter((entry) => entry.kind === 'tool_result')
      .map((entry) => entry.text);
    expect(told.slice(0, 3)).toEqual([
      expect.stringContaining('<svg>the logo</svg>'),
      file,
      expect.stringContaining(`${file}:1:`),
    ]);
    expect(told[3]).toContain('is absolute');
    expect(told[4]).toContain('Read-only file system');
    expect(await server.file(run.branch, 'logo.svg')).toBe('<svg>the logo</svg>\n');
  });
});

it('over the limit is asked at a gate that shows all questions and answers so far', async () => {
  const server = await aServer({
    script: aScript({
      planner: [
        when('Answer: Blue', aPlan()),
        when('Answer: Big', asks({ question: 'Which colour?', responseType: 'text' })),
        asks({ question: 'Which size?', responseType: 'text' }),
      ],
    }),
  });
  const run = await server.launch('Add the feature', { trustMode: { planning: 'auto' }, maxClarifications: 1 });
  await server.until(run, { gate: 'clarification' });
  await server.decide(run, { decision: 'answer', response: 'Big' });
  const { gate, status } = await server.until(run, { gate: 'escalation' });
  expect(status).toBe('awaiting_approval');
  expect(gate).toMatchObject({
    decisions: ['approve', 'reject'],
    details: { question: { question: 'Which colour?' }, answered: [{ question: 'Which size?', response: 'Big' }] },
  });
  await server.decide(run, { decision: 'approve', notes: 'Blue' });
  await server.until(run, { status: 'completed' });
});

it('that is ignored sends the run back to planning, told so, with the work kept', async () => {
  const server = await aServer({
    script: aScript({
      planner: [when("The question 'Which?' was ignored", aPlan({ title: 'Another way' })), aPlan()],
      implementer: [
        when('Another way', runs('cat half.sh > feature.sh')),
        asks({ question: 'Which?', responseType: 'text' }, [tool('write', { path: 'half.sh', content: 'half\n' })]),
      ],
      validator: [passes()],
    }),
  });
  const run = await server.launch('Add the feature', { trustMode: { planning: 'manual' } });
  await server.until(run, { gate: 'plan' });
  await server.decide(run, { decision: 'approve' });
  await server.until(run, { gate: 'clarification' });
  await server.decide(run, { decision: 'ignore' });
  const again = await server.until(run, { gate: 'plan' });
  expect(again.gate?.details).toMatchObject({
    title: 'Another way',
    version: 2,
    path: '.autonomous/specs/001-feature.md',
  });
  expect(again.clarifications).toMatchObject([{ status: 'ignored', answeredBy: 'local' }]);
  await server.decide(run, { decision: 'approve' });
  await server.until(run, { status: 'completed' });
  expect(await server.file(run.branch, 'feature.sh')).toBe('half\n');
});
