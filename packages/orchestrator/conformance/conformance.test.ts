/** Tests that the conformance check finds a difference between the engine and XState, and takes only documented ones for granted. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyActorLogic, type AnyStateMachine, assign, createMachine, fromPromise, raise } from 'xstate';
import { CAUSES, causeOf } from './causes.ts';
import { compared, type Operation, type Verdict } from './compare.ts';
import { converted } from './convert.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'conformance-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A machine as a test of XState writes it: it has parts that the engine refuses. */
function aMachine({ delay = 5, add = 1, says = 'go', input = 7, last = 'b' } = {}): AnyStateMachine {
  return createMachine({
    context: { n: 0 },
    initial: 'a',
    states: {
      a: {
        entry: () => undefined,
        on: {
          GO: {
            actions: [says, assign({ n: ({ context }: { context: { n: number } }) => context.n + add })],
            target: 'work',
          },
        },
      },
      work: { invoke: { src: fromPromise(() => Promise.resolve(1)), input, onDone: 'late' } },
      late: { entry: raise({ type: 'LATE' }, { delay }), on: { LATE: last } },
      b: { type: 'final' },
      c: { type: 'final' },
    },
  } as never);
}

const ALL: readonly Operation[] = [
  { kind: 'send', event: { type: 'GO' } },
  { kind: 'complete', output: 1 },
  { kind: 'advance', ms: 10 },
];

/** @param other machine that XState's actor gets; by default the engine's */
function verdictOn(machine: AnyStateMachine, other = machine): Promise<Verdict> {
  // The engine's definition is built first.
  const builds = [converted(machine, false), converted(other, false)];
  return compared({
    build: (logic: AnyActorLogic) => (builds.shift() as NonNullable<(typeof builds)[0]>)(logic),
    operations: ALL,
    folder,
  });
}

describe('a comparison', () => {
  it('finds a machine identical after conversion, at each step and reopened', async () => {
    // The start, GO, the activity's end, the timer and the end of the advance.
    expect(await verdictOn(aMachine())).toEqual({ kind: 'identical', steps: 5 });
  });

  it('reports the reason of a machine that the engine refuses', async () => {
    const routed = { initial: 'a', states: { a: { route: {} } } } as never;
    expect(await verdictOn(createMachine(routed) as never)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('has a route'),
    });
  });

  it.each([
    ['context', { add: 2 }],
    ['emitted', { says: 'stop' }],
    ['activities', { input: 8 }],
    ['timers', { delay: 6 }],
    ['value', { last: 'c' }],
  ])('finds a planted difference in %s', async (field, planted) => {
    const verdict = await verdictOn(aMachine(), aMachine(planted));
    expect(verdict).toMatchObject({ kind: 'different', fields: expect.arrayContaining([field]) });
    expect(verdict.kind === 'different' && causeOf(verdict)).toBeNull();
  });

  it('finds a difference that only the reopened run shows', async () => {
    let calls = 0;
    const counting = createMachine({
      initial: 'a',
      context: { calls: 0 },
      states: { a: { on: { GO: { actions: assign({ calls: () => Math.floor((calls += 1) / 3) }) } } } },
    });
    expect(await verdictOn(counting as never)).toMatchObject({
      kind: 'different',
      at: '0 send, reopened',
      fields: expect.arrayContaining(['status']),
    });
  });
});

describe('the causes', () => {
  it.each(CAUSES)('$name: its document has the heading', async ({ document, heading }) => {
    expect((await readFile(path.join(ROOT, document), 'utf8')).split('\n')).toContain(heading);
  });
});

describe('the command', () => {
  interface Ended {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
  }

  function command(...args: readonly string[]): Promise<Ended> {
    const given = ['--disable-warning=ExperimentalWarning', MAIN, ...args];
    return new Promise((resolve) => {
      execFile(process.execPath, given, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
  }

  /** A checkout with one test file. */
  async function checkout(test: string): Promise<string> {
    for (const part of ['src', 'test']) await mkdir(path.join(folder, 'packages/core', part), { recursive: true });
    await writeFile(path.join(folder, 'packages/core/src/scxml.ts'), '');
    const imports =
      "import { assign, createActor, createMachine } from '../src/index.ts';\nimport { expect, it } from 'vitest';\n";
    await writeFile(path.join(folder, 'packages/core/test/own.test.ts'), imports + test);
    return folder;
  }

  it('states in one line what it needs when it gets no checkout', async () => {
    const { code, stderr } = await command();
    expect(code).toBe(2);
    expect(stderr).toMatch(/^The conformance tests need a checkout of XState: .*\n$/);
    expect(await command('--xstate', '/absent')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'/absent'"),
    });
  });

  it('counts the machines of a checkout and accepts documented differences', async () => {
    const test = `
      it('toggles', () => {
        const actor = createActor(createMachine({ initial: 'a', states: { a: { on: { GO: 'b' } }, b: {} } })).start();
        actor.send({ type: 'GO' });
        expect(actor.getSnapshot().value).toBe('never checked');
      });
      it('spawns', () => {
        const add = assign({ child: ({ spawn }) => spawn(createMachine({})) });
        const actor = createActor(createMachine({ context: {}, on: { ADD: { actions: add } } })).start();
        actor.send({ type: 'ADD' });
      });`;
    const { code, stdout } = await command('--xstate', await checkout(test));
    expect(stdout).toContain('unit tests: 2 machines');
    expect(stdout).toContain('identical: 1\n');
    expect(stdout).toMatch(/different by a documented cause, 1: .*workflow-reference\.md, What is refused/);
    expect(code).toBe(0);
  });

  it('fails when a difference has no documented cause', async () => {
    const test = `it('counts', () => void createActor(createMachine({ context: () => ({ at: Math.random() }) })).start());`;
    const { code, stdout } = await command('--xstate', await checkout(test));
    expect(stdout).toContain('DIFFERENT own.test.ts > counts, at start: context');
    expect(code).toBe(1);
  });
});
