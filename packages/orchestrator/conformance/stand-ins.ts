/**
 * Replaces the modules that XState's tests import: its own sources by the installed package, with actors that are recorded,
 * and Vitest by a collector of tests. Assertions do nothing; only the machines and the events sent to them are used.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as xstate from 'xstate';
import * as actions from 'xstate/actions';
import * as actors from 'xstate/actors';
import * as graph from 'xstate/graph';
import * as guards from 'xstate/guards';
import type { Operation } from './compare.ts';

/** A machine that a test started as an actor, and the operations of the test on it. */
export interface Recording {
  readonly machine: xstate.AnyStateMachine;
  readonly input: unknown;
  readonly operations: Operation[];
}

export interface CollectedTest {
  readonly name: string;
  readonly run: () => unknown;
}

type Callable = (...given: readonly never[]) => unknown;

const SHARED = Symbol.for('conformance');

/** Tests of one file, and the actors that the running test creates. */
export class Collected {
  readonly tests: CollectedTest[] = [];
  recordings: Recording[] = [];
  readonly #names: string[] = [];

  describe(name: string, body: () => void): void {
    this.#names.push(name);
    try {
      body();
    } catch {
      // The tests that were declared before the error are kept.
    }
    this.#names.pop();
  }

  it(name: string, run: unknown): void {
    if (typeof run !== 'function') return;
    const title = [...this.#names, name].join(' > ');
    this.tests.push({ name: title, run: () => (run as (context: object) => unknown)({ skip: () => undefined }) });
  }

  advance(ms: number): void {
    for (const { operations } of this.recordings) operations.push({ kind: 'advance', ms });
  }
}

/**
 * Prepares this process for loading files of `packages/core/test` of a checkout of XState.
 * @param scxml folder of the unpacked SCXML test framework; `null` without one
 */
export function installStandIns(checkout: string, scxml: string | null): Collected {
  const collected = new Collected();
  const testFolder = path.join(checkout, 'packages/core/test');
  const names = importedNames(testFolder);
  for (const name of importedNames(path.join(checkout, 'packages/core/src'), 'scxml.ts')) names.add(name);
  const api: Record<string, unknown> = {
    ...xstate,
    ...actions,
    ...actors,
    ...guards,
    ...graph,
    ...recorders(collected),
  };
  const runner = testRunner(collected);
  const nothing = new Proxy(() => nothing, {
    get: (_target, key) => (key === 'then' || typeof key === 'symbol' ? undefined : nothing),
    apply: () => nothing,
  }) as unknown;
  Object.assign(globalThis, runner, {
    [SHARED]: { xstate: api, vitest: runner, nothing },
    // scxml.test.ts uses these names of CommonJS.
    __dirname: testFolder,
    require: { resolve: () => '' },
  });
  const sources: Readonly<Record<string, string>> = {
    'conformance:xstate': moduleOf('xstate', names),
    'conformance:vitest': moduleOf('vitest', new Set([...names, ...Object.keys(runner)])),
    'conformance:pkg-up': `export const sync = () => ${JSON.stringify(path.join(scxml ?? '/absent', 'package.json'))};`,
    'conformance:xml-js': `export { xml2js } from '${new URL('xml.ts', import.meta.url).href}'; export const Element = undefined;`,
    'conformance:absent': [...names]
      .map((name) => `export const ${name} = globalThis[Symbol.for('conformance')].nothing;`)
      .join('\n'),
  };
  registerHooks({
    resolve(specifier, context, next) {
      const from = context.parentURL ?? '';
      const isTest = from.includes('/packages/core/test/');
      const isConversion = from.endsWith('/packages/core/src/scxml.ts');
      if (!isTest && !isConversion) return next(specifier, context);
      if (specifier.startsWith('node:') || specifier === 'fs' || specifier === 'path') return next(specifier, context);
      if (isTest && /\/src\/scxml(\.ts)?$/.test(specifier))
        return next(pathToFileURL(path.join(checkout, 'packages/core/src/scxml.ts')).href, context);
      if (isTest && /^\.\.?\/utils(\.ts)?$/.test(specifier))
        return next(pathToFileURL(path.join(testFolder, 'utils.ts')).href, context);
      const stand = ['vitest', 'pkg-up', 'xml-js'].includes(specifier) ? specifier : null;
      const isOwn = specifier.startsWith('.') || specifier.startsWith('xstate');
      return { url: `conformance:${stand ?? (isOwn ? 'xstate' : 'absent')}`, shortCircuit: true };
    },
    load(url, context, next) {
      const source = sources[url];
      return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
    },
  });
  return collected;
}

/** All names that the files import from any module. Names of types among them become exports with the value `undefined`. */
function importedNames(folder: string, only?: string): Set<string> {
  const names = new Set<string>();
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && (only === undefined || name === only));
  for (const name of files) {
    const source = readFileSync(path.join(folder, name), 'utf8');
    for (const [, list = ''] of source.matchAll(/import\s(?:type\s)?\s*\{([^}]*)\}\s*from/g))
      for (const part of withoutComments(list).split(',')) {
        const [first = '', second = ''] = part.split(' ').filter((word) => word !== '');
        const imported = first === 'type' ? second : first;
        if (/^\w+$/.test(imported) && imported !== 'default') names.add(imported);
      }
  }
  return names;
}

function withoutComments(source: string): string {
  const lines = source.split('\n').map((line) => line.split('//')[0] ?? '');
  return lines.join(' ');
}

function moduleOf(shared: string, names: ReadonlySet<string>): string {
  const lines = [...names].map((name) => `export const ${name} = shared[${JSON.stringify(name)}];`);
  return `const shared = globalThis[Symbol.for('conformance')].${shared};\n${lines.join('\n')}\nexport default shared;`;
}

/** Recording replacements of parts of XState, and internal functions that the package does not export. */
function recorders(collected: Collected): Readonly<Record<string, unknown>> {
  // Actors that are created while another actor works are parts of that actor's machine.
  let depth = 0;
  const within = <Result>(work: () => Result): Result => {
    depth += 1;
    try {
      return work();
    } finally {
      depth -= 1;
    }
  };
  const createActor = (logic: xstate.AnyActorLogic, options: { input?: unknown; snapshot?: unknown } = {}): unknown => {
    const actor = xstate.createActor(logic, options as never);
    if (!(logic instanceof xstate.StateMachine) || options.snapshot !== undefined || depth > 0) return actor;
    const operations: Operation[] = [];
    collected.recordings.push({ machine: logic as xstate.AnyStateMachine, input: options.input, operations });
    const start = actor.start.bind(actor);
    const send = actor.send.bind(actor);
    return Object.assign(actor, {
      start: () => within(start),
      send: (event: xstate.AnyEventObject) => {
        if (depth === 0 && typeof event?.type === 'string') operations.push({ kind: 'send', event: plainEvent(event) });
        within(() => send(event as never));
      },
    });
  };
  class SimulatedClock extends xstate.SimulatedClock {
    override increment(ms: number): void {
      collected.advance(ms);
      super.increment(ms);
    }
  }
  const mapValues = (values: object, map: (value: unknown, key: string, index: number) => unknown): unknown =>
    Object.fromEntries(Object.entries(values).map(([key, value], index) => [key, map(value, key, index)]));
  return { createActor, interpret: createActor, SimulatedClock, mapValues, NULL_EVENT: '' };
}

function plainEvent(event: xstate.AnyEventObject): { readonly type: string } {
  try {
    return JSON.parse(JSON.stringify(event)) as { type: string };
  } catch {
    return { type: event.type };
  }
}

/** Vitest's API. Only the functions that declare tests have an effect. */
function testRunner(collected: Collected): Readonly<Record<string, unknown>> {
  const skip = (): void => undefined;
  const it = (name: string, run: unknown): void => collected.it(name, run);
  const each = (rows: readonly unknown[]) => (name: string, run: Callable) => {
    for (const [index, row] of rows.entries())
      it(`${name} ${index}`, () => run(...((Array.isArray(row) ? row : [row]) as never[])));
  };
  const describe = (name: string, body: () => void): void => collected.describe(name, body);
  const test = Object.assign(it, { skip, only: it, todo: skip, fails: it, concurrent: it, each });
  const nothing: unknown = new Proxy(() => nothing, {
    get: (_target, key) => (key === 'then' || typeof key === 'symbol' ? undefined : nothing),
    apply: () => nothing,
  });
  const mock = (implementation?: Callable): unknown => {
    const called = Object.assign((...given: readonly never[]) => implementation?.(...given), {
      mock: { calls: [], results: [] },
    });
    for (const name of ['mockImplementation', 'mockReturnValue', 'mockClear', 'mockReset', 'mockResolvedValue'])
      Object.assign(called, { [name]: () => called });
    return called;
  };
  const vi = {
    fn: mock,
    spyOn: () => mock(),
    useFakeTimers: () => vi,
    useRealTimers: () => vi,
    advanceTimersByTime: (ms: number) => collected.advance(ms),
    advanceTimersByTimeAsync: async (ms: number) => collected.advance(ms),
    runAllTimers: skip,
    restoreAllMocks: skip,
    clearAllMocks: skip,
    resetAllMocks: skip,
    mock: skip,
    doMock: skip,
    importActual: async () => ({}),
    waitFor: async (check: () => unknown) => check(),
    isFakeTimers: () => false,
    mocked: (given: unknown) => given,
  };
  const given = (value: unknown): unknown => value;
  const expect = Object.assign(() => nothing, {
    any: () => nothing,
    anything: () => nothing,
    objectContaining: given,
    arrayContaining: given,
    stringContaining: given,
    stringMatching: given,
    assertions: skip,
    hasAssertions: skip,
    extend: skip,
    not: nothing,
  });
  return {
    describe: Object.assign(describe, { skip, only: describe, each: () => skip }),
    it: test,
    test,
    expect,
    vi,
    vitest: vi,
    beforeEach: skip,
    afterEach: skip,
    beforeAll: skip,
    afterAll: skip,
    expectTypeOf: () => nothing,
    assertType: skip,
  };
}
