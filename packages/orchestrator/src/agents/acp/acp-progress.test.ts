import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { AcpProgress } from './acp-progress.ts';
import type { SessionUpdate } from './acp-wire.ts';
import type { AgentRequest } from '../agent.ts';
import type { WatchedCall } from '../stall-watch.ts';

type Told = Parameters<AgentRequest<unknown>['onProgress']>[0];

const aProgress = () => {
  const told: Told[] = [];
  const steps: (readonly WatchedCall[])[] = [];
  const progress = new AcpProgress((entry) => told.push(entry), {
    onCall: () => {},
    onStep: (calls) => steps.push(calls),
    onTooMuch: () => {},
    onCompaction: () => {},
  });
  return { progress, told, steps };
};

const begun = (toolCallId: string, rawInput: object, title = 'Write'): SessionUpdate => ({
  sessionUpdate: 'tool_call',
  toolCallId,
  title,
  kind: 'edit',
  rawInput,
});
const ended = (toolCallId: string): SessionUpdate => ({
  sessionUpdate: 'tool_call_update',
  toolCallId,
  status: 'completed',
  content: [{ type: 'content', content: { type: 'text', text: 'wrote it' } }],
});

describe('the last message', () => {
  const says = (text: string): SessionUpdate => ({
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text },
  });

  it('is what was said since the last tool call, with each turn in a paragraph of its own', () => {
    const { progress } = aProgress();
    progress.take(says('I look.'));
    progress.take(begun('c1', { path: 'a.ts' }));
    progress.take(says('It is '));
    progress.take(says('done.'));
    progress.endTurn();
    progress.take(says('As I said.'));
    progress.endTurn();
    expect(progress.lastMessage).toBe('It is done.\n\nAs I said.');
  });
});

describe('a tool call that is told of in parts', () => {
  it('is told once, with what it is about: while it is pending its input may be half of it', () => {
    const { progress, told } = aProgress();
    const call = { toolCallId: 'c1', kind: 'execute' };
    progress.take({ ...call, sessionUpdate: 'tool_call', title: 'bash', status: 'pending', rawInput: { cwd: '/w' } });
    expect(told).toEqual([]);
    const rawInput = { command: 'npm test', cwd: '/w' };
    const running = { ...call, sessionUpdate: 'tool_call_update', title: 'npm test', status: 'in_progress', rawInput };
    progress.take(running);
    progress.take(running);
    expect(told).toEqual([{ kind: 'tool_call', text: 'npm test', data: { tool: 'execute', input: rawInput } }]);
  });

  it('is told at the latest when the agent does something else', () => {
    const { progress, told } = aProgress();
    progress.take({ ...begun('c1', { path: 'a.ts' }), status: 'pending' });
    progress.take({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Well.' } });
    progress.take(begun('c2', { path: 'b.ts' }));
    expect(told.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'tool_call Write',
      'text Well.',
      'tool_call Write',
    ]);
  });
});

describe('a tool call of any length', () => {
  const long = (middle: string) => ({ path: 'a.ts', content: `${'x'.repeat(200_000)}${middle}${'x'.repeat(200_000)}` });

  it('is not kept whole while it goes on', async () => {
    const { progress, told } = aProgress();
    const input = (() => {
      const large = long('one');
      progress.take(begun('c1', large));
      return new WeakRef(large);
    })();
    // What a WeakRef was made of lives until the end of the task that made it.
    await new Promise((resolve) => setTimeout(resolve, 0));
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(input.deref()).toBeUndefined();
    expect(told[0]).toMatchObject({ kind: 'tool_call', data: { input: { path: 'a.ts' } } });
    expect(JSON.stringify(told).length).toBeLessThan(5_000);
  });

  it('is known again, and told from another that begins and ends like it', () => {
    const { progress, steps } = aProgress();
    for (const [id, middle] of [
      ['c1', 'one'],
      ['c2', 'two'],
      ['c3', 'one'],
    ] as const) {
      progress.take(begun(id, long(middle)));
      progress.take(ended(id));
    }
    const [first, second, third] = steps.map(([call]) => call);
    expect(third).toEqual(first);
    expect(second).not.toEqual(first);
  });

  it('is passed over where its id is no id', () => {
    const { progress, told } = aProgress();
    progress.take(begun('x'.repeat(1_000_000), { path: 'a.ts' }));
    expect(told).toEqual([]);
  });
});
