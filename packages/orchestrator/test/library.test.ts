/** The engine without the server: the documented example is the one that runs, and what it promises holds. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assign, setup } from 'xstate';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import {
  activity,
  type ActivityContext,
  createEngine,
  defineWorkflow,
  type Engine,
  type EventStore,
  ONE_TRY,
  openSqliteEventStore,
} from '../src/library.ts';

const EXAMPLE = fileURLToPath(new URL('../examples/approval.ts', import.meta.url));
const GUIDE = fileURLToPath(new URL('../../../docs/engine-as-a-library.md', import.meta.url));
const WORKFLOW_LIBRARY = new URL('../src/workflow-library.ts', import.meta.url);
const REFERENCE = new URL('../../../docs/workflow-reference.md', import.meta.url);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'library-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('the example runs, and a second time gives the same run', async () => {
  const run = () => promisify(execFile)(process.execPath, [EXAMPLE, path.join(folder, 'orders.db')]);
  expect((await run()).stdout).toBe('completed\n');
  expect((await run()).stdout).toBe('completed\n');
});

it('the example has about thirty lines and stands in the guide as it is', async () => {
  const example = await readFile(EXAMPLE, 'utf8');
  expect(example.split('\n').length).toBeLessThanOrEqual(35);
  // In the guide it imports the published package.
  const published = example.replace('@autonomous/orchestrator/engine', 'autonomous-engine');
  expect(await readFile(GUIDE, 'utf8')).toContain(published);
});

it('the reference lists what is promised to authors of workflows', async () => {
  const source = await readFile(WORKFLOW_LIBRARY, 'utf8');
  const promised = source.slice(0, source.indexOf('// ---- shown, may change'));
  const exported = [...promised.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(',').flatMap((name) => name.trim().replace(/^type /, '') || []),
  );
  const [, table = ''] =
    /\*\*What is promised\.\*\*([^]*?)\nEverything else/.exec(await readFile(REFERENCE, 'utf8')) ?? [];
  const rows = table.split('\n').filter((row) => row.startsWith('| '));
  const listed = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
  expect(exported.length).toBeGreaterThan(30);
  expect(listed.toSorted()).toEqual(exported.toSorted());
});

const greet = defineWorkflow({
  name: 'greet',
  version: 1,
  description: 'for tests',
  input: z.strictObject({ name: z.string() }),
  signals: { STOP: z.strictObject({}) },
  machine: setup({
    types: {
      input: {} as { input: { name: string } },
      context: {} as { name: string; text: string },
      output: {} as { length: number },
    },
    actors: { greet: activity<{ name: string }, string>() },
  }).createMachine({
    initial: 'greeting',
    context: ({ input }) => ({ name: input.input.name, text: '' }),
    output: ({ context }) => ({ length: context.text.length }),
    states: {
      greeting: {
        invoke: {
          id: 'greeter',
          src: 'greet',
          input: ({ context }) => ({ name: context.name }),
          onDone: { target: 'done', actions: assign({ text: ({ event }) => event.output }) },
        },
        on: { STOP: 'stopped' },
      },
      done: { type: 'final', meta: { status: 'completed' } },
      stopped: { type: 'final', meta: { status: 'cancelled' } },
    },
  }),
});

async function withEngine(work: (engine: Engine, greeted: string[]) => Promise<void>): Promise<void> {
  const store: EventStore = openSqliteEventStore({ file: path.join(folder, 'test.db') });
  const greeted: string[] = [];
  const perform = async ({ name }: { name: string }, { signal }: ActivityContext): Promise<string> => {
    greeted.push(name);
    if (name === 'Nobody') await new Promise((_, reject) => signal.addEventListener('abort', reject));
    return `Hello ${name}`;
  };
  const engine = createEngine({ store, definitions: [greet], activities: { greet: { retry: ONE_TRY, perform } } });
  await engine.start();
  try {
    await work(engine, greeted);
  } finally {
    await engine.stop();
    await store.close();
  }
}

it('a run has the input that it was given, and the same id is the same run over restarts', async () => {
  await withEngine(async (engine, greeted) => {
    await engine.run('greet', { id: 'r1', input: { name: 'Ada' } });
    expect((await engine.finished('r1')).status).toBe('completed');
    await engine.run('greet', { id: 'r1', input: { name: 'Ada' } });
    expect(greeted).toEqual(['Ada']);
  });
  await withEngine(async (engine, greeted) => {
    expect((await engine.run('greet', { id: 'r1', input: { name: 'Ada' } })).status).toBe('completed');
    expect(greeted).toEqual([]);
  });
});

it('a run that has ended gives its output and its context, also after a restart', async () => {
  const result = { status: 'completed', output: { length: 9 }, context: { name: 'Ada', text: 'Hello Ada' } };
  await withEngine(async (engine) => {
    await engine.run('greet', { id: 'r1', input: { name: 'Ada' } });
    expect(await engine.finished('r1')).toMatchObject(result);
  });
  await withEngine(async (engine) => expect(await engine.finished('r1')).toMatchObject(result));
});

it('a run whose machine was not asked for its end has no output', async () => {
  await withEngine(async (engine) => {
    for (const id of ['r1', 'r2']) await engine.run('greet', { id, input: { name: 'Nobody' } });
    await engine.signal('r1', 'STOP', {});
    await engine.cancel('r2', 'me');
    const context = { name: 'Nobody', text: '' };
    expect(await engine.finished('r1')).toMatchObject({ status: 'cancelled', output: { length: 0 }, context });
    const second = await engine.finished('r2');
    expect(second).toMatchObject({ status: 'cancelled', output: null, context });
    // The engine goes on with the same object: nobody who reads it may change it.
    expect(Object.isFrozen(second.context)).toBe(true);
  });
});

it('input and workflows that do not fit are refused by name', async () => {
  await withEngine(async (engine) => {
    await expect(engine.run('greet', { input: { nam: 'Ada' } })).rejects.toThrow(/input of workflow 'greet'.*name/);
    await expect(engine.run('wave')).rejects.toThrow("no workflow 'wave'");
  });
});

it('an engine whose workflow starts an activity that nobody carries out is refused', () => {
  const store = openSqliteEventStore({ file: path.join(folder, 'test.db') });
  expect(() => createEngine({ store, definitions: [greet], activities: {} })).toThrow("'greet' of workflow 'greet'");
  return store.close();
});
