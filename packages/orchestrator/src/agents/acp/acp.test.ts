/** External agents over their real protocol: processes of their own in the real bubblewrap, killed, cancelled, and out of order. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type JsonValue, NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createBubblewrapProvider } from '../../sandboxes/bubblewrap/bubblewrap.ts';
import { findHomePrograms } from '../../sandboxes/bubblewrap/home-programs.ts';
import type { Sandbox } from '../../sandboxes/sandbox.ts';
import type { CallUsage } from '../../models/model.ts';
import { createAcpAgent } from './acp.ts';
import { type Called, OPTIONS, PROMPTS, type Step } from './acp-agent.fixture.ts';
import type { AcpAgentSettings } from './acp-agents.ts';
import { decidePermission } from './acp-permissions.ts';
import { EXCHANGE_FOLDER, QUESTION_FILE, RESULT_FILE } from './acp-instructions.ts';
import type { AgentOutcome, AgentRequest } from '../agent.ts';
import { aRequest, type Reported, type Result } from '../agent.fixture.ts';
import { asMounted } from '../../sandboxes/mounted-folder.fixture.ts';

const WORKSPACE = path.resolve(fileURLToPath(new URL('../../../../..', import.meta.url)));
const PROGRAM = '/opt/workspace/packages/orchestrator/src/agents/acp/acp-agent.fixture.ts';
const LIMITS = { memoryBytes: 2 ** 31, fileBytes: 2 ** 24, processes: 256, cpuSeconds: 60 };

const provider = createBubblewrapProvider();
const available = await provider.availability();
// Only a machine that cannot run bubblewrap at all skips this file, and says why.
if (!available.ok)
  process.stderr.write(`tests of external agents are skipped: ${available.reason}. ${available.remedy}\n`);

const DONE: Step = { do: 'write', path: RESULT_FILE, content: '{"summary":"made it"}' };
const EDIT: Step = { do: 'write', path: 'src/made.ts', content: 'export const made = true;\n' };

interface Script {
  readonly turns: readonly (readonly Step[])[];
  readonly keeps?: 'resume' | 'load' | 'count';
  readonly settings?: Partial<AcpAgentSettings>;
}

interface Place {
  readonly folder: string;
  readonly home: string;
}

interface Call extends Place {
  readonly sandbox: Sandbox;
  readonly progress: readonly Reported[];
  /** What was kept for a later attempt. */
  readonly kept: () => JsonValue;
  readonly outcome: Promise<AgentOutcome<Result>>;
  readonly abort: (reason: Error) => void;
  /** What the agent was told, over all its processes. */
  readonly prompts: () => Promise<readonly string[]>;
  readonly file: (name: string) => Promise<string | null>;
  /** Resolves when it has made its edit. */
  readonly edited: () => Promise<void>;
}

async function aPlace(): Promise<Place> {
  const root = await mkdtemp(path.join(tmpdir(), 'acp-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const place = { folder: path.join(root, 'project'), home: path.join(root, 'home') };
  await Promise.all(Object.values(place).map((folder) => mkdir(folder)));
  return place;
}

async function aCall(script: Script, parts: Partial<AgentRequest<Result>> = {}, place?: Place): Promise<Call> {
  const { folder, home } = place ?? (await aPlace());
  const agent = createAcpAgent(() => [
    {
      name: 'scripted',
      command: 'node',
      args: ['--disable-warning=ExperimentalWarning', PROGRAM],
      env: { AGENT_SCRIPT: JSON.stringify(script.turns), AGENT_KEEPS: script.keeps ?? '' },
      mounts: [{ host: WORKSPACE, inside: '/opt/workspace' }],
      permissions: { default: 'allow' },
      network: [],
      authMethod: null,
      secrets: [],
      unusable: null,
      ...script.settings,
    },
  ]);
  const model = 'acp:scripted';
  const needs = await agent.needs?.(model);
  const sandbox = await provider.open({
    key: 'r-1/1/implement',
    folder,
    home,
    readOnly: needs?.readOnly ?? [],
    network: { allow: needs?.allow ?? [] },
    limits: LIMITS,
  });
  onTestFinished(() => sandbox.dispose());
  const controller = new AbortController();
  let kept: JsonValue = null;
  const request = await aRequest({
    sandbox,
    model,
    signal: controller.signal,
    keep: (state) => {
      kept = state;
    },
    ...parts,
  });
  const outcome = agent.perform(request);
  outcome.catch(() => {});
  return {
    folder,
    home,
    sandbox,
    progress: request.progress,
    kept: () => kept,
    outcome,
    abort: (reason) => controller.abort(reason),
    prompts: async () => {
      const lines = await readFile(path.join(home, PROMPTS), 'utf8').catch(() => '');
      return lines
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as string);
    },
    file: async (name) => readFile(path.join(folder, name), 'utf8').catch(() => null),
    edited: async () => {
      const told = () => request.progress.some(({ kind, text }) => kind === 'tool_result' && text.includes('made.ts'));
      await expect.poll(told).toBe(true);
    },
  };
}

/** The agent's own processes on this machine; bubblewrap's carry the same words. */
async function agentProcesses(folder: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    const isAgent = line.startsWith('node\0') && line.includes(PROGRAM);
    if (isAgent && mounts.split('\n').some((mount) => mount.includes(`${asMounted(folder)} /workspace `)))
      found.push(Number(pid));
  }
  return found;
}

describe.skipIf(!available.ok)('an external agent', () => {
  it('works on the files with its own tools and gives its result in a file, of which nothing stays', async () => {
    const call = await aCall({
      turns: [
        [
          { do: 'say', text: 'I look ' },
          { do: 'say', text: 'around.' },
          EDIT,
          DONE,
          { do: 'say', text: 'Done.' },
          { do: 'use', usage: { inputTokens: 100, outputTokens: 20, cachedReadTokens: 5, totalTokens: 125 } },
        ],
      ],
    });
    expect(await call.outcome).toEqual({
      kind: 'finished',
      result: { summary: 'made it' },
      usage: { inputTokens: 105, outputTokens: 20, calls: 1 },
      model: 'acp:scripted',
      scripted: false,
    });
    expect(await call.file('src/made.ts')).toBe('export const made = true;\n');
    expect(existsSync(path.join(call.folder, '.autonomous'))).toBe(false);
    expect(call.progress.slice(0, 3)).toEqual([
      { kind: 'text', text: 'I look around.' },
      {
        kind: 'tool_call',
        text: 'Write src/made.ts',
        data: { tool: 'edit', input: { path: 'src/made.ts', content: 'export const made = true;\n' } },
      },
      { kind: 'tool_result', text: 'wrote src/made.ts', data: { tool: 'edit', ok: true } },
    ]);
    expect(call.progress).toContainEqual(expect.objectContaining({ kind: 'usage', text: '105 tokens in, 20 out' }));
  });

  it('is told its role, its task, where its result goes and what shape that has', async () => {
    const call = await aCall({ turns: [[DONE]] });
    await call.outcome;
    const [prompt = ''] = await call.prompts();
    expect(prompt).toMatch(/^You are the implementer\./);
    expect(prompt).toContain(`/workspace/${RESULT_FILE}`);
    expect(prompt).toContain(`/workspace/${QUESTION_FILE}`);
    expect(prompt).toContain('"maxLength": 100');
    expect(prompt).toMatch(/Make it\.$/);
  });

  it('has the variables of its configuration, its program read-only and nothing else of the server', async () => {
    const call = await aCall({
      turns: [],
      settings: {
        command: 'sh',
        args: ['-c', 'echo "$KEY $HOME" > out.txt; touch /opt/workspace/x 2>> out.txt; ls -A ~root >> home.txt'],
        env: { KEY: "it's a canary" },
      },
    });
    await expect(call.outcome).rejects.toThrow(NeedsHuman);
    const seen = await call.file('out.txt');
    expect(seen).toContain("it's a canary /home/agent\n");
    expect(seen).toContain('Read-only file system');
    const programs = findHomePrograms({ isTaken: () => false }).folders;
    const names = new Set(programs.map((program) => path.relative(homedir(), program).split('/')[0]));
    const shown = ((await call.file('home.txt')) ?? '').split('\n').filter((name) => name !== '');
    expect(shown.filter((name) => !names.has(name))).toEqual([]);
  });

  it('is told how to sign in where its configuration says so, and says which ways there are where it does not', async () => {
    const env = { AGENT_SCRIPT: JSON.stringify([[DONE]]), AGENT_WAY_IN: 'by-key' };
    const stranger = await aCall({ turns: [], settings: { env } });
    await expect(stranger.outcome).rejects.toMatchObject({
      name: 'NeedsHuman',
      reason: 'model_unavailable',
      message: expect.stringContaining('one of its ways to sign in (by-key)'),
    });
    const known = await aCall({ turns: [], settings: { env, authMethod: 'by-key' } });
    expect((await known.outcome).kind).toBe('finished');
  });

  describe('asks for permission', () => {
    const wants = (title: string, kind: 'edit' | 'execute' = 'edit', options = OPTIONS): readonly Step[] => [
      { do: 'permit', title, kind, options },
      DONE,
    ];
    const asked = decidePermission(
      'scripted',
      { default: 'ask' },
      {
        toolCall: { toolCallId: 'one', title: 'npm test', kind: 'execute', rawInput: { what: 'npm test' } },
        options: [],
      },
      [],
    );
    const question = asked.kind === 'ask' ? asked.question.question : '';

    it.each([
      ['allow', 'yes'],
      ['deny', 'no'],
    ] as const)('and policy says %s', async (policy, chosen) => {
      const call = await aCall({ turns: [wants('Edit a.ts')], settings: { permissions: { default: policy } } });
      expect((await call.outcome).kind).toBe('finished');
      expect(await call.file('permission.txt')).toBe(chosen);
    });

    it('and a person has no more options to choose from than can be read', () => {
      const options = Array.from({ length: 1_000 }, (_, index) => ({
        optionId: `o${index}`,
        name: `Option ${index}`,
        kind: 'allow_once' as const,
      }));
      const toolCall = { toolCallId: 'one', title: 'npm test' };
      const decision = decidePermission('scripted', { default: 'ask' }, { toolCall, options }, []);
      expect(decision.kind === 'ask' ? decision.question.options : []).toEqual([
        ...options.slice(0, 10).map(({ name }) => name),
        'Do not allow',
      ]);
    });

    it('and shows how much of its input is left out, and is another call with any other input', () => {
      const ask = (rawInput: object, kind: 'execute' | 'other' = 'other') => {
        const toolCall = { toolCallId: 'one', title: 'bash', kind, rawInput };
        const decision = decidePermission('scripted', { default: 'ask' }, { toolCall, options: [] }, []);
        if (decision.kind !== 'ask') throw new Error('it is not asked');
        return decision.question;
      };
      const command = 'x'.repeat(3_000);
      expect(ask({ command }).context).toMatch(/…\n\[19 more characters are not shown\]$/);
      const questions = [
        { command: 'a' },
        { command: 'a', description: 'b' },
        { command: 'a', description: 'c' },
        { command: 'a ' },
      ];
      expect(new Set(questions.map((input) => ask(input).question)).size).toBe(questions.length);
      // A command's description has no effect, and models word it differently each time.
      expect(new Set(questions.map((input) => ask(input, 'execute').question)).size).toBe(2);
    });

    it('and a kind of tool has a policy of its own', async () => {
      const call = await aCall({
        turns: [wants('npm test', 'execute')],
        settings: { permissions: { default: 'allow', execute: 'deny' } },
      });
      await call.outcome;
      expect(await call.file('permission.txt')).toBe('no');
    });

    it('and where it offers nothing to refuse with, a refusal is said all the same', async () => {
      const onlyYes = OPTIONS.slice(0, 1);
      const call = await aCall({
        turns: [wants('Edit a.ts', 'edit', onlyYes)],
        settings: { permissions: { default: 'deny' } },
      });
      await call.outcome;
      expect(await call.file('permission.txt')).toBe('cancelled');
    });

    it('and policy says ask: the call ends with the question and the options offered', async () => {
      const settings = { permissions: { default: 'ask' } } as const;
      const call = await aCall({ turns: [[EDIT, ...wants('npm test', 'execute')]], settings });
      expect(await call.outcome).toMatchObject({
        kind: 'question',
        question: {
          question,
          context: '{\n  "what": "npm test"\n}',
          options: ['Allow', 'Always allow', 'Reject'],
          responseType: 'single_choice',
        },
        usage: { calls: 1 },
      });
      // What it had done before is there for the next call.
      expect(await call.file('src/made.ts')).toContain('made');
    });

    it.each([
      ['Allow', 'yes'],
      ['Always allow', 'ever'],
      ['Reject', 'no'],
      ['Decide by yourself.', 'no'],
    ])('and a person answered "%s" in the call before', async (answer, chosen) => {
      const settings = { permissions: { default: 'ask' } } as const;
      const answers = [`Question: ${question}\nAnswer: Reject`, `Question: ${question}\nAnswer: ${answer}`];
      const call = await aCall({ turns: [wants('npm test', 'execute')], settings }, { answers });
      expect((await call.outcome).kind).toBe('finished');
      expect(await call.file('permission.txt')).toBe(chosen);
    });

    it('and what a person allowed once holds for no other call of the same title', async () => {
      const settings = { permissions: { default: 'ask' } } as const;
      const answers = [`Question: ${question}\nAnswer: Allow`];
      const step: Step = { do: 'permit', title: 'npm test', kind: 'execute', input: 'curl https://evil.test' };
      const call = await aCall({ turns: [[step, DONE]], settings }, { answers });
      expect((await call.outcome).kind).toBe('question');
    });

    it('and "always" holds for other calls of the same kind, and for no other kind', async () => {
      const settings = { permissions: { default: 'ask' } } as const;
      const answers = [`Question: ${question}\nAnswer: Always allow`];
      const same = await aCall({ turns: [wants('npm run lint', 'execute')], settings }, { answers });
      expect((await same.outcome).kind).toBe('finished');
      expect(await same.file('permission.txt')).toBe('yes');
      const other = await aCall({ turns: [wants('Edit a.ts')], settings }, { answers });
      expect((await other.outcome).kind).toBe('question');
    });
  });

  describe('hears what a person says', () => {
    interface Said {
      readonly messages: NonNullable<AgentRequest<Result>['messages']>;
      readonly edited: () => void;
    }
    /** Said when the agent has made its edit, once. */
    const whenEdited = (text: string): Said => {
      let said: readonly { readonly by: string; readonly text: string }[] = [];
      return {
        edited: () => {
          said = [{ by: 'mia', text }];
        },
        messages: async () => {
          const news = said;
          said = [];
          return news;
        },
      };
    };

    it('in the middle of a turn, which ends for it, and goes on in the same session', async () => {
      const { edited, messages } = whenEdited('Call it done.ts.');
      const call = await aCall({ turns: [[EDIT, { do: 'wait' }], [DONE]] }, { messages });
      await call.edited();
      edited();
      expect((await call.outcome).kind).toBe('finished');
      const [, prompt = '', ...more] = await call.prompts();
      expect(prompt).toMatch(/Call it done\.ts\.[\s\S]*Go on with the task/);
      expect(more).toEqual([]);
      expect(call.progress).toContainEqual({ kind: 'message', text: 'Call it done.ts.', data: { by: 'mia' } });
    });

    it('before it was killed, though it goes on with a session that was not told', async () => {
      const turns = [[DONE], [DONE]];
      const place = await aPlace();
      const first = await aCall({ turns: [[EDIT, { do: 'wait' }], [DONE]], keeps: 'resume' }, {}, place);
      await first.edited();
      first.abort(new Error('the server stops'));
      await expect(first.outcome).rejects.toThrow('the server stops');
      const second = await aCall({ turns, keeps: 'resume' }, { kept: first.kept(), said: ['In red.'] }, place);
      await second.outcome;
      expect((await second.prompts()).at(-1)).toMatch(/^Your process was ended[\s\S]*In red\./);
    });

    it('before its result is taken', async () => {
      const messages = [[], [{ by: 'mia', text: 'In red.' }]];
      const other: Step = { do: 'write', path: RESULT_FILE, content: '{"summary":"made it red"}' };
      const call = await aCall({ turns: [[DONE], [other]] }, { messages: async () => messages.shift() ?? [] });
      expect(await call.outcome).toMatchObject({ kind: 'finished', result: { summary: 'made it red' } });
      expect((await call.prompts())[1]).toMatch(/In red\.[\s\S]*before your result was taken/);
    });

    it('where it does not stop, in a new process that has its session', async () => {
      const { edited, messages } = whenEdited('Stop that.');
      const call = await aCall({ turns: [[EDIT, { do: 'wait', deaf: true }], [DONE]], keeps: 'resume' }, { messages });
      await call.edited();
      edited();
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[1]).toMatch(/^Your process was ended[\s\S]*Stop that\./);
    });

    it('where it does not stop and had died as often as it may: that it has to be told something is no death', async () => {
      const { edited, messages } = whenEdited('Stop that.');
      const dies: readonly Step[] = [{ do: 'exit', code: 7 }];
      const turns = [dies, dies, [EDIT, { do: 'wait', deaf: true } as const], [DONE]];
      const call = await aCall({ turns, keeps: 'resume' }, { messages });
      await call.edited();
      edited();
      expect((await call.outcome).kind).toBe('finished');
    });
  });

  describe('reserves and settles', () => {
    type Entry = readonly ['reserved' | 'settled', ...unknown[]];
    const aMeter = (entries: Entry[], refuseAfter = Infinity): NonNullable<AgentRequest<Result>['meter']> => ({
      reserve: async ({ id }) => {
        if (entries.length > refuseAfter) throw new NeedsHuman('budget', 'It is used up.');
        entries.push(['reserved', id]);
        return {
          settle: async (usage, toolCalls = 0) => {
            entries.push(['settled', usage, toolCalls]);
          },
        };
      },
    });

    const dollarsOf = (entries: readonly Entry[]): number =>
      entries
        .flatMap(([what, usage]) => (what === 'settled' ? [(usage as CallUsage).costUsd ?? 0] : []))
        .reduce((sum, usd) => sum + usd, 0);

    it('with each turn and each tool call, and what the agent says at the end of its turn', async () => {
      const entries: Entry[] = [];
      const usage = { inputTokens: 100, outputTokens: 20, cachedReadTokens: 5, totalTokens: 125 };
      const call = await aCall({ turns: [[EDIT, DONE, { do: 'use', usage }]] }, { meter: aMeter(entries) });
      await call.outcome;
      const none = { inputTokens: 0, outputTokens: 0 };
      expect(entries).toEqual([
        ['reserved', 'acp:scripted'],
        ['reserved', 'acp:scripted'],
        ['settled', none, 1],
        ['reserved', 'acp:scripted'],
        ['settled', none, 1],
        ['settled', { inputTokens: 105, outputTokens: 20, cachedInputTokens: 5 }, 0],
      ]);
    });

    it('and is stopped at its next tool call where the run may spend no more, with its files kept', async () => {
      const entries: Entry[] = [];
      const turns = [[EDIT, { do: 'wait' } as const, DONE]];
      const call = await aCall({ turns }, { meter: aMeter(entries, 0) });
      await expect(call.outcome).rejects.toMatchObject({ name: 'NeedsHuman', reason: 'budget' });
      expect(await call.file('src/made.ts')).toContain('made');
      expect(await agentProcesses(call.folder)).toEqual([]);
      expect(entries.at(-1)?.[0]).toBe('settled');
    });

    it('with what a turn used that a question ended', async () => {
      const entries: Entry[] = [];
      const usage = { inputTokens: 70, outputTokens: 7, totalTokens: 77 };
      const turns = [
        [
          { do: 'use', usage },
          { do: 'permit', title: 'npm test', kind: 'execute' },
        ] as const,
      ];
      const settings = { permissions: { default: 'ask' } } as const;
      const call = await aCall({ turns, settings }, { meter: aMeter(entries) });
      expect((await call.outcome).kind).toBe('question');
      expect(entries.at(-1)).toEqual(['settled', { inputTokens: 70, outputTokens: 7 }, 0]);
    });

    it('with dollars that the agent tells of, once, also where a later attempt goes on with its session', async () => {
      const entries: Entry[] = [];
      const turns = [
        [{ do: 'cost', usd: 0.5 }, EDIT, { do: 'cost', usd: 0.75 }, { do: 'wait' }],
        [{ do: 'cost', usd: 1 }, DONE],
      ] as const;
      const place = await aPlace();
      const first = await aCall({ turns, keeps: 'resume' }, { meter: aMeter(entries) }, place);
      await first.edited();
      first.abort(new Error('the server stops'));
      await expect(first.outcome).rejects.toThrow('the server stops');
      const second = await aCall({ turns, keeps: 'resume' }, { meter: aMeter(entries), kept: first.kept() }, place);
      expect((await second.outcome).kind).toBe('finished');
      expect(dollarsOf(entries)).toBeCloseTo(1);
    });

    it('with dollars of an agent that counts from nothing again in a session that is taken up', async () => {
      const entries: Entry[] = [];
      const turns = [
        [EDIT, { do: 'cost', usd: 0.75 }, { do: 'exit', code: 1 }],
        [EDIT, { do: 'cost', usd: 0.25 }, EDIT, { do: 'cost', usd: 0.5 }, DONE],
      ] as const;
      const call = await aCall({ turns, keeps: 'resume' }, { meter: aMeter(entries) });
      expect((await call.outcome).kind).toBe('finished');
      expect(dollarsOf(entries)).toBeCloseTo(1.25);
    });

    it('with dollars that it told of before it died, once, and with those of the session that follows it', async () => {
      const entries: Entry[] = [];
      const turns = [
        [EDIT, { do: 'cost', usd: 0.75 }, { do: 'exit', code: 1 }],
        [EDIT, { do: 'cost', usd: 0.25 }, DONE],
      ] as const;
      const call = await aCall({ turns, keeps: 'count' }, { meter: aMeter(entries) });
      expect((await call.outcome).kind).toBe('finished');
      expect(dollarsOf(entries)).toBeCloseTo(1);
    });
  });

  describe('asks a person', () => {
    it('and is refused by a role in which nobody can be asked', async () => {
      const settings = { permissions: { default: 'ask' } } as const;
      const turns = [[{ do: 'permit', title: 'npm test', kind: 'execute' } as const, DONE]];
      const call = await aCall({ turns, settings }, { tools: ['read'] });
      expect((await call.outcome).kind).toBe('finished');
      expect(await call.file('permission.txt')).toBe('cancelled');
    });

    it('by a file', async () => {
      const asked = { question: 'Which colour?', options: ['red', 'blue'], responseType: 'single_choice' };
      const call = await aCall({ turns: [[{ do: 'write', path: QUESTION_FILE, content: JSON.stringify(asked) }]] });
      expect(await call.outcome).toMatchObject({ kind: 'question', question: { ...asked, context: '' } });
      expect(existsSync(path.join(call.folder, EXCHANGE_FOLDER))).toBe(false);
    });

    it('by a form of its own tools', async () => {
      const oneOf = [
        { const: 'a', title: 'Postgres', description: 'a server' },
        { const: 'b', title: 'SQLite' },
      ];
      const call = await aCall({
        turns: [
          [
            {
              do: 'elicit',
              message: 'Which database?',
              properties: { choice: { type: 'string', oneOf }, own: { type: 'string' } },
            },
            DONE,
          ],
        ],
      });
      expect(await call.outcome).toMatchObject({
        kind: 'question',
        question: {
          question: 'Which database?',
          context: 'Postgres: a server',
          options: ['Postgres', 'SQLite'],
          responseType: 'single_choice',
        },
      });
    });

    it('by a form of several fields, which is answered in words', async () => {
      const properties = {
        name: { type: 'string', title: 'Name', description: 'of the service' },
        size: { type: 'string', title: 'Size', enum: ['small', 'large'] },
        kind: { type: 'array', title: 'Kind', items: { type: 'string', enum: ['x', 'y'] } },
      };
      const call = await aCall({ turns: [[{ do: 'elicit', message: 'Tell me.', properties }]] });
      expect(await call.outcome).toMatchObject({
        kind: 'question',
        question: {
          question: 'Tell me.',
          context: 'Name: of the service\nSize (small / large)\nKind (x / y)',
          responseType: 'text',
        },
      });
    });

    it('in a role that may not ask, whose form is declined: it decides by itself', async () => {
      const turns = [[{ do: 'elicit', message: 'May I?', properties: {} } as const, DONE]];
      const call = await aCall({ turns }, { tools: ['read'] });
      expect((await call.outcome).kind).toBe('finished');
      expect(await call.file('elicited.txt')).toBe('decline');
    });
  });

  describe('compacts its context', () => {
    it('and is told its task again in the same session; the transcript says where', async () => {
      const wait: Step = { do: 'wait' };
      const call = await aCall({
        turns: [
          [{ do: 'say', text: 'I begin.' }, { do: 'compact' }, wait],
          [EDIT, DONE],
        ],
      });
      expect((await call.outcome).kind).toBe('finished');
      const [first = '', again = '', ...more] = await call.prompts();
      expect(again).toMatch(/^Your context was compacted\./);
      expect(again).toContain(first);
      expect(more).toEqual([]);
      expect(call.progress.slice(0, 3).map(({ text }) => text)).toEqual([
        'I begin.',
        'The agent compacts its context. All that it said and did until here stays in this transcript.',
        'The agent has compacted its context. It is told its task again.',
      ]);
      expect(call.progress[1]).toMatchObject({ kind: 'note', data: { compaction: 'begins' } });
    });

    it('many times in one turn, and is told its task once', async () => {
      const often = Array.from({ length: 150 }, (): Step => ({ do: 'compact' }));
      const call = await aCall({
        turns: [
          [...often, { do: 'wait' }],
          [EDIT, DONE],
        ],
      });
      expect((await call.outcome).kind).toBe('finished');
      const [first = '', again = '', ...more] = await call.prompts();
      expect(again.split(first)).toHaveLength(2);
      expect(more).toEqual([]);
      expect(call.progress.filter(({ kind }) => kind === 'note').length).toBeLessThanOrEqual(200);
    });

    it('again and again without a call in between, and its turn goes on', async () => {
      const call = await aCall({
        turns: [
          [{ do: 'compact' }, { do: 'wait' }],
          [{ do: 'compact' }, { do: 'compact' }, EDIT, DONE],
          [{ do: 'say', text: 'never reached' }],
        ],
      });
      expect((await call.outcome).kind).toBe('finished');
      expect(await call.prompts()).toHaveLength(2);
      expect(call.progress.filter(({ text }) => text.endsWith('It is told its task again.'))).toHaveLength(1);
    });
  });

  describe('goes in circles', () => {
    const read = (path: string, result = 'unchanged'): Called => ({ kind: 'read', input: { path }, result });
    const makes = (...calls: Called[]): Step => ({ do: 'call', calls });
    const reads = (count: number, path: string): Step[] => Array.from({ length: count }, () => makes(read(path)));
    const stuck: Step = { do: 'repeat', steps: [makes(read('src/a.ts'))] };
    const notesOf = ({ progress }: Call) => progress.flatMap(({ kind, text }) => (kind === 'note' ? [text] : []));

    it('and is told so in the middle of its turn, and goes on in the same session when it does something else', async () => {
      const call = await aCall({ turns: [[stuck], [EDIT, DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      const [, nudge = '', ...more] = await call.prompts();
      expect(nudge).toMatch(/^You made the same call with the same result 4 times[\s\S]*Go on with the task/);
      expect(more).toEqual([]);
      expect(notesOf(call)).toEqual([
        'No progress: it made the same call with the same result 4 times. It was warned.',
      ]);
    });

    it('after it was told: a new session is told what was tried; and then it needs a person', async () => {
      // A new session plays the first turn again.
      const call = await aCall({ keeps: 'resume', turns: [[stuck], [stuck]] });
      await expect(call.outcome).rejects.toMatchObject({
        name: 'NeedsHuman',
        reason: 'stalled',
        message: expect.stringContaining('implementer (acp:scripted) makes no progress: it made the same call'),
      });
      const [first = '', , third = '', ...more] = await call.prompts();
      expect(third.startsWith(first)).toBe(true);
      expect(third).toMatch(
        /An earlier try of this call went in circles[\s\S]*- read \{"path":"src\/a\.ts"\} → unchanged/,
      );
      expect(more).toEqual([]);
      expect(notesOf(call).map((note) => note.split('. ')[1])).toEqual([
        'It was warned.',
        'It starts again with a note about what was tried.',
      ]);
      expect(await agentProcesses(call.folder)).toEqual([]);
    });

    it('and does not stop for it: a new process resumes its session and takes the message', async () => {
      const deaf: Step = { do: 'wait', deaf: true };
      const call = await aCall({
        keeps: 'resume',
        turns: [
          [...reads(4, 'src/a.ts'), deaf],
          [EDIT, DONE],
        ],
      });
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[1]).toMatch(/^Your process was ended[\s\S]*You made the same call/);
    });

    it.each<[string, Step]>([
      ['with calls of which no input is told', makes({ kind: 'read', title: 'src/a.ts', result: 'unchanged' })],
      ['with one call, whatever it says', makes({ kind: 'execute', input: { command: 'date' }, result: 'tick #' })],
      [
        'with a command that it describes in other words each time',
        makes({ kind: 'execute', input: { command: 'npm test', description: 'Try #' }, result: 'Exit code 1.' }),
      ],
    ])('%s', async (_what, step) => {
      const call = await aCall({ turns: [[{ do: 'repeat', steps: [step] }], [DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      expect(notesOf(call)[0]).toMatch(/^No progress: /);
    });

    it.each<[string, readonly Step[]]>([
      [
        'reads files again after each edit',
        Array.from({ length: 12 }, (_, round) => [
          ...reads(2, 'src/a.ts'),
          makes({ kind: 'edit', input: { path: 'src/a.ts', text: `try ${round}` }, result: 'Changed.' }),
        ]).flat(),
      ],
      [
        'waits for a command, whose output grows',
        Array.from({ length: 10 }, () => makes({ kind: 'other', input: { task: 'b1' }, result: 'still running: # %' })),
      ],
      [
        'reads many files at once, and once more',
        [1, 2].map(() => makes(...Array.from({ length: 30 }, (_, file) => read(`src/${file}.ts`)))),
      ],
      ['tells nothing of its calls but that they are made', Array.from({ length: 30 }, () => makes({ kind: 'edit' }))],
    ])('only in appearance: it %s', async (_what, steps) => {
      const call = await aCall({ turns: [[...steps, DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      expect(await call.prompts()).toHaveLength(1);
      expect(notesOf(call)).toEqual([]);
    });
  });

  describe('ends its turn', () => {
    it('without a result, and gives one when asked once more in the same session', async () => {
      const call = await aCall({ turns: [[EDIT], [DONE]] });
      expect(await call.outcome).toMatchObject({
        kind: 'finished',
        result: { summary: 'made it' },
        usage: { calls: 2 },
      });
      expect((await call.prompts())[1]).toContain(`There is no file /workspace/${RESULT_FILE}`);
    });

    it.each([
      ['no JSON', '{"summary":', 'is not valid JSON'],
      ['another shape', '{"summary":1}', 'does not fit its schema: summary:'],
    ])('with a result that is %s, and is told so', async (_what, content, fault) => {
      const call = await aCall({ turns: [[{ do: 'write', path: RESULT_FILE, content }], [DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[1]).toContain(fault);
    });

    it('with a folder where a file is asked for, which is a fault like any other', async () => {
      const folder = (name: string): Step => ({ do: 'write', path: `${name}/x`, content: '' });
      const asked = await aCall({ turns: [[folder(QUESTION_FILE), DONE]] });
      expect((await asked.outcome).kind).toBe('finished');
      const call = await aCall({ turns: [[folder(RESULT_FILE)], [{ do: 'say', text: 'All is done.' }]] });
      expect(await call.outcome).toMatchObject({ kind: 'finished', result: { summary: 'All is done.' } });
      expect((await call.prompts())[1]).toContain(`"${RESULT_FILE}" is `);
    });

    it('twice without a result: its last words are the summary where a role wants no more', async () => {
      const call = await aCall({
        turns: [[EDIT], [EDIT, { do: 'say', text: 'All is ' }, { do: 'say', text: 'done.' }]],
      });
      expect(await call.outcome).toMatchObject({ kind: 'finished', result: { summary: 'All is done.' } });
    });

    it('twice without a result where a role wants more, which needs a person', async () => {
      const call = await aCall(
        { turns: [[EDIT], [{ do: 'say', text: 'All is done.' }]] },
        // The type of another role's result: this call never gives one.
        { role: 'validator', resultSchema: z.object({ summary: z.string(), verdict: z.enum(['pass']) }) as never },
      );
      await expect(call.outcome).rejects.toMatchObject({
        name: 'NeedsHuman',
        reason: 'agent_failed',
        message: expect.stringContaining('validator (acp:scripted) gave no valid result'),
      });
      expect(await call.prompts()).toHaveLength(2);
    });

    it('never, and writes text without end, of which a bounded part is told', async () => {
      const says: Step = { do: 'say', text: 'on and on '.repeat(10_000) };
      const call = await aCall({ turns: [[{ do: 'repeat', steps: [says] }]] });
      await expect(call.outcome).rejects.toMatchObject({
        name: 'NeedsHuman',
        reason: 'agent_failed',
        message: expect.stringContaining('wrote more than 4000000 characters of text'),
      });
      const told = call.progress.reduce((sum, { text }) => sum + text.length, 0);
      expect(told).toBeLessThan(4_001_000);
    });

    it('because it was stopped, and is told to go on', async () => {
      const call = await aCall({ turns: [[{ do: 'stop', reason: 'max_tokens' }], [DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[1]).toContain('max_tokens');
    });

    it('by refusing, which needs a person', async () => {
      const call = await aCall({ turns: [[{ do: 'stop', reason: 'refusal' }]] });
      await expect(call.outcome).rejects.toMatchObject({
        name: 'NeedsHuman',
        message: expect.stringContaining('refused'),
      });
    });

    it('with the fault of its model, which time may mend', async () => {
      const call = await aCall({ turns: [[{ do: 'fail', message: 'overloaded' }]] });
      const failure = await call.outcome.catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(RetryableFailure);
      expect(failure).toMatchObject({ reason: 'model_unavailable', message: expect.stringContaining('overloaded') });
    });

    it('because its provider limits the rate, until a time that its session was told of', async () => {
      const inAnHour = Math.ceil(Date.now() / 1_000) + 3_600;
      const fails: Step = {
        do: 'fail',
        message: "You've hit your session limit · resets 3pm (UTC)",
        data: { errorKind: 'rate_limit' },
      };
      const call = await aCall({ turns: [[{ do: 'limit', status: 'rejected', resetsAt: inAnHour }, fails]] });
      const failure = await call.outcome.catch((error: unknown) => error);
      expect(failure).toMatchObject({
        name: 'RetryableFailure',
        reason: 'rate_limited',
        message: expect.stringMatching(
          /^The provider of the agent scripted limits the rate: You've hit your session limit/,
        ),
      });
      const { retryAfterMs } = failure as RetryableFailure;
      expect(retryAfterMs).toBeGreaterThan(3_500_000);
      expect(retryAfterMs).toBeLessThanOrEqual(3_601_000);
    });

    it('in words that speak of a limit, as an agent may that works on one: that is no error', async () => {
      const call = await aCall({ turns: [[{ do: 'say', text: 'Error: 429 Too Many Requests' }, DONE]] });
      expect((await call.outcome).kind).toBe('finished');
    });
  });

  describe('writes what is no message', () => {
    it('and is understood all the same; the first lines are told', async () => {
      const garbage = [
        'Debugger attached.\n',
        '{"half":\n',
        '[1,2]\n{"jsonrpc":"1.0"}\n\n',
        `${'x'.repeat(60_000)}\n`,
        '{"jsonrpc":"2.0","method":"session/update","params":{"wrong":true}}\n',
        '{"jsonrpc":"2.0","id":"nobody","result":{}}\n',
      ];
      const call = await aCall({ turns: [[...garbage.map((text): Step => ({ do: 'print', text })), EDIT, DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      const told = call.progress.filter(({ text }) => text.includes('not a protocol message'));
      expect(told.map(({ text }) => text.split(': ')[1])).toEqual(['Debugger attached.', '{"half":', '[1,2]']);
    });

    it('and never a message: it is ended, and a person sees what it wrote to stderr', async () => {
      const call = await aCall({
        turns: [],
        settings: { command: 'sh', args: ['-c', 'echo hello; echo "no such option" >&2; exit 2'] },
      });
      await expect(call.outcome).rejects.toMatchObject({
        name: 'NeedsHuman',
        reason: 'agent_failed',
        message: expect.stringMatching(/ended with exit code 2 before its work was done\. It wrote: no such option$/),
      });
    });

    it('nor is there: the command is not found', async () => {
      const call = await aCall({ turns: [], settings: { command: '/opt/nothing', args: [] } });
      await expect(call.outcome).rejects.toMatchObject({ message: expect.stringContaining('/opt/nothing: not found') });
    });
  });

  describe('dies in the middle', () => {
    it('and its session is resumed by a new process, with the files as they are', async () => {
      const call = await aCall({ keeps: 'resume', turns: [[EDIT, { do: 'exit', code: 1 }], [DONE]] });
      expect(await call.outcome).toMatchObject({ kind: 'finished', result: { summary: 'made it' } });
      const prompts = await call.prompts();
      expect(prompts).toHaveLength(2);
      expect(prompts[1]).toMatch(/^Your process was ended in the middle/);
      expect(call.progress).toContainEqual(
        expect.objectContaining({ kind: 'note', text: expect.stringContaining('ended with exit code 1') }),
      );
    });

    it('by SIGKILL, and its session is resumed', async () => {
      const call = await aCall({ keeps: 'resume', turns: [[EDIT, { do: 'wait' }], [DONE]] });
      await call.edited();
      const [pid = 0] = await agentProcesses(call.folder);
      process.kill(pid, 'SIGKILL');
      expect((await call.outcome).kind).toBe('finished');
      expect(call.progress).toContainEqual(
        expect.objectContaining({ text: expect.stringContaining('was killed by signal 9') }),
      );
    });

    it('and loads its session, whose history is not told again', async () => {
      const call = await aCall({ keeps: 'load', turns: [[EDIT, { do: 'exit', code: 1 }], [DONE]] });
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[1]).toMatch(/^Your process was ended/);
      expect(JSON.stringify(call.progress)).not.toContain('an old word');
    });

    it('and cannot go on: a new session is told of what lies there', async () => {
      const call = await aCall({ turns: [[EDIT, { do: 'exit', code: 1 }]] });
      // Each new session plays the first turn again.
      await expect(call.outcome).rejects.toMatchObject({
        name: 'NeedsHuman',
        message: expect.stringContaining('ended with exit code 1 before its work was done, 3 times'),
      });
      const prompts = await call.prompts();
      expect(prompts).toHaveLength(3);
      expect(prompts[1]).toMatch(/^An earlier session on this task was ended[\s\S]*You are the implementer\./);
      expect(call.kept()).toBeNull();
    });

    it('again and again, which needs a person who sees what it wrote', async () => {
      const dying: readonly Step[] = [
        { do: 'complain', text: 'out of luck\n' },
        { do: 'exit', code: 7 },
      ];
      const call = await aCall({ keeps: 'resume', turns: [dying, dying, dying, [DONE]] });
      await expect(call.outcome).rejects.toMatchObject({
        reason: 'agent_failed',
        message: expect.stringMatching(/3 times\. It wrote: out of luck$/),
      });
    });

    it('with its server, and the next attempt resumes its session', async () => {
      const script: Script = { keeps: 'resume', turns: [[EDIT, { do: 'wait' }], [DONE]] };
      const first = await aCall(script);
      await first.edited();
      await first.sandbox.dispose();
      await expect(first.outcome).rejects.toThrow('the sandbox was disposed');
      const second = await aCall(script, { kept: first.kept() }, first);
      expect((await second.outcome).kind).toBe('finished');
      expect((await second.prompts())[1]).toMatch(/^Your process was ended/);
    });

    it('and what was kept belongs to another agent: it begins anew', async () => {
      const kept = { acp: { agent: 'other', session: 'gone' } };
      const call = await aCall({ keeps: 'resume', turns: [[DONE]] }, { kept });
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[0]).toMatch(/^You are the implementer\./);
    });

    it('and has lost its session: a new one is told of what lies there', async () => {
      const kept = { acp: { agent: 'scripted', session: 'gone' } };
      const call = await aCall({ keeps: 'resume', turns: [[DONE]] }, { kept });
      expect((await call.outcome).kind).toBe('finished');
      expect((await call.prompts())[0]).toMatch(/^An earlier session/);
    });
  });

  describe('is cancelled', () => {
    it.each([
      ['and ends its turn by itself', false],
      ['and is killed where it does not listen', true],
    ])('%s', async (_what, deaf) => {
      const call = await aCall({ keeps: 'resume', turns: [[EDIT, { do: 'wait', deaf }, DONE]] });
      await call.edited();
      expect(await agentProcesses(call.folder)).toHaveLength(1);
      const reason = new Error('cancelled');
      call.abort(reason);
      await expect(call.outcome).rejects.toBe(reason);
      expect(await agentProcesses(call.folder)).toEqual([]);
    });

    it('before it began, and never starts', async () => {
      const signal = AbortSignal.abort(new Error('too late'));
      const call = await aCall({ turns: [[EDIT, DONE]] }, { signal });
      await expect(call.outcome).rejects.toThrow('too late');
      expect(await call.prompts()).toEqual([]);
    });
  });
});

describe('an agent that cannot be used', () => {
  const agent = createAcpAgent(() => [
    {
      name: 'claude',
      command: 'x',
      args: [],
      env: {},
      mounts: [],
      permissions: { default: 'allow' },
      network: [],
      authMethod: null,
      secrets: [],
      unusable: 'KEY is not set. Set it.',
    },
  ]);

  it.each([
    ['acp:claude', 'The agent claude cannot be used: KEY is not set. Set it.'],
    ['acp:other', 'There is no agent "other" on this server; there are: claude.'],
  ])('says why: %s', async (model, message) => {
    const expected = { name: 'NeedsHuman', reason: 'model_unavailable', message: expect.stringContaining(message) };
    await expect(agent.needs?.(model)).rejects.toMatchObject(expected);
    await expect(agent.perform(await aRequest({ model }))).rejects.toMatchObject(expected);
  });

  it('says that a role works with tools of the server', async () => {
    const callTools = [{ name: 'fetch', description: '', inputSchema: {}, call: async () => ({ ok: true, text: '' }) }];
    const able = createAcpAgent(() => [
      {
        name: 'claude',
        command: 'x',
        args: [],
        env: {},
        mounts: [],
        permissions: { default: 'allow' },
        network: [],
        authMethod: null,
        secrets: [],
        unusable: null,
      },
    ]);
    await expect(able.perform(await aRequest({ model: 'acp:claude', callTools }))).rejects.toMatchObject({
      name: 'NeedsHuman',
      reason: 'model_unavailable',
      message: expect.stringContaining('works with tools of this server (fetch)'),
    });
  });
});
