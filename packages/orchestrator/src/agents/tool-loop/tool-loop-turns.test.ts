/** Tests how a tool loop reacts to an agent that repeats itself and to messages of people. */
import { NeedsHuman } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { MESSAGE_FIRST } from '../../roles/prompt-parts.ts';
import { aModelProvider, anAgentAt, answerInTurn, aRequest, aWorkplace, calls, finish } from '../agent.fixture.ts';

const MODELS = ['anthropic:claude-sonnet-4-5', 'openai:gpt-5', 'openai-chat:gpt-4o', 'deepseek:deepseek-chat'];

const { provider, baseUrl } = await aModelProvider();

interface Told {
  readonly role: string;
  readonly content: string | null;
}

/** Messages of the n-th request from the end, as roles and texts. */
function told(fromEnd = 1): Told[] {
  const body = provider.getRequests().at(-fromEnd)?.body as { messages: { role: string; content: unknown }[] };
  return body.messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : content === null ? null : JSON.stringify(content),
  }));
}

const textOf = (messages: readonly Told[]) => messages.map(({ content }) => content ?? '').join('\n');

describe('an agent that goes in circles', () => {
  const model = 'openai-chat:gpt-4o';
  const same = calls(['read', { path: 'a.txt' }]);

  it('is told so, begins anew with a note of what it tried, and is then left to a person', async () => {
    const work = await aWorkplace();
    await work.put('a.txt', 'one\n');
    answerInTurn(
      provider,
      Array.from({ length: 30 }, () => same),
    );
    const request = await aRequest({ model, sandbox: work.sandbox, maxSteps: 100 });
    const before = provider.getRequests().length;
    const failure = await anAgentAt(baseUrl)
      .perform(request)
      .catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(NeedsHuman);
    expect(failure).toMatchObject({
      reason: 'stalled',
      message: expect.stringContaining('made the same call with the same result 4 times'),
    });
    const requests = provider.getRequests().slice(before);
    expect(requests).toHaveLength(11);
    expect(textOf(told(7))).toContain('this leads nowhere');
    const anew = told(4);
    expect(anew.filter(({ role }) => role !== 'system')).toHaveLength(1);
    expect(textOf(anew)).toContain('An earlier try of this call went in circles');
    expect(textOf(anew)).toContain('read {"path":"a.txt"} →');
    expect(textOf(anew)).toContain(request.prompt);
    expect(request.progress.filter(({ kind }) => kind === 'note').map(({ text }) => text)).toEqual([
      expect.stringContaining('It was warned.'),
      expect.stringContaining('It starts again'),
    ]);
  });

  it('goes on when the nudge has helped', async () => {
    answerInTurn(provider, [same, same, same, same, calls(['write', { path: 'b.txt', content: 'x' }]), finish()]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({ kind: 'finished' });
  });
});

describe.each(MODELS)('what a person says to an agent with %s', (model) => {
  it('reaches it at its next step, once, and is in the transcript', async () => {
    const queue: { by: string; text: string }[][] = [[], [{ by: 'ada', text: 'Use tabs.' }], []];
    answerInTurn(provider, [calls(['list', {}]), calls(['list', { path: '.' }]), finish()]);
    const request = await aRequest({ model, messages: async () => queue.shift() ?? [] });
    const outcome = await anAgentAt(baseUrl).perform(request);

    expect(outcome).toMatchObject({ kind: 'finished' });
    const [first, second, third] = provider
      .getRequests()
      .slice(-3)
      .map(({ body }) => JSON.stringify(body));
    expect(first).not.toContain('Use tabs.');
    expect(second?.split('Use tabs.')).toHaveLength(2);
    expect(third?.split('Use tabs.')).toHaveLength(2);
    expect(request.progress.filter(({ kind }) => kind === 'message')).toEqual([
      { kind: 'message', text: 'Use tabs.', data: { by: 'ada' } },
    ]);
  });

  it('comes before the end, even where the steps are used up', async () => {
    let asked = 0;
    const messages = async () => {
      asked++;
      return asked === 2 ? [{ by: 'ada', text: 'One more thing.' }] : [];
    };
    answerInTurn(provider, [finish('too early'), calls(['list', {}]), finish('with it')]);
    const request = await aRequest({ model, messages, maxSteps: 1 });
    expect(await anAgentAt(baseUrl).perform(request)).toMatchObject({ result: { summary: 'with it' } });
    expect(JSON.stringify(provider.getRequests().at(-2)?.body)).toContain(MESSAGE_FIRST);
    expect(JSON.stringify(provider.getRequests().at(-2)?.body)).toContain('One more thing.');
  });
});
