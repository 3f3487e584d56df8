/** People, crashes and the clock in any order over HTTP, against a model of a few lines. */
import fc from 'fast-check';
import { foldRun, type RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { errand, hashOf, WORK_MS } from './errand.fixture.ts';
import { type Answer, answerOf, ModelServer, PROJECT } from './model-server.fixture.ts';

type State = 'asking' | 'gate' | 'working' | 'paused' | 'completed' | 'cancelled';

interface ModelRun {
  state: State;
  round: number;
  /** Milliseconds of work so far. */
  workedMs: number;
  /** Gates that are decided. */
  readonly gone: string[];
}

interface Model {
  readonly runs: ModelRun[];
}

/** The server with the runs that the commands launched, by their place in the model. */
class Real {
  readonly server: ModelServer;
  readonly ids: string[] = [];
  readonly #work: Map<string, (output: string) => void>;
  readonly #begun: Map<string, () => void>;

  constructor(server: ModelServer, work: Map<string, (output: string) => void>, begun: Map<string, () => void>) {
    this.server = server;
    this.#work = work;
    this.#begun = begun;
  }

  static async start(): Promise<Real> {
    const work = new Map<string, (output: string) => void>();
    const begun = new Map<string, () => void>();
    const server = await ModelServer.start({
      workflows: [errand],
      activities: ['draft', 'work'],
      perform: (src, _input, { runId }) => {
        if (src === 'draft') return Promise.resolve('a draft');
        return new Promise((resolve) => {
          work.set(runId, resolve);
          begun.get(runId)?.();
          begun.delete(runId);
        });
      },
    });
    return new Real(server, work, begun);
  }

  id(run: number): string {
    return this.ids[run] ?? `run-${run}`;
  }

  /** The work of a run, once it has begun under the server that is up now. */
  async finish(runId: string): Promise<void> {
    if (!this.#work.has(runId)) await new Promise<void>((resolve) => this.#begun.set(runId, resolve));
    this.#work.get(runId)?.('done');
    this.#work.delete(runId);
  }

  /** What was under way ended with its state or its server. */
  forgetWork(runId?: string): void {
    if (runId === undefined) this.#work.clear();
    else this.#work.delete(runId);
  }

  async rests(run: number, { state }: ModelRun): Promise<RunView> {
    reached.add(state);
    return this.server.until(this.id(run), (view) => view.state === state);
  }
}

type Command = fc.AsyncCommand<Model, Real>;

/** What was done at least once, and where runs came to. */
const played = new Set<string>();
const reached = new Set<State>();
const NAMES = [
  'launch',
  'answer',
  'approve',
  'approve what was not shown',
  'reject',
  'retry',
  'cancel',
  'send a message',
  'decide every gate that is gone',
  'finish the work',
  'time passes',
  'crash',
  'restart',
];

/** A command to one run, which the server takes in some states of the model and refuses with 409 in all others. */
function toRun(
  name: string,
  run: number,
  isTaken: (model: ModelRun) => boolean,
  send: (real: Real, runId: string, model: ModelRun) => Promise<Answer<RunView>>,
  change: (model: ModelRun, gate: string) => void,
): Command {
  return {
    check: (model) => model.runs.length > run,
    async run(model, real) {
      const of = model.runs[run];
      if (of === undefined) return;
      played.add(name);
      const { gate } = await real.server.client.getRun(real.id(run));
      const answer = await send(real, real.id(run), of);
      if (isTaken(of)) {
        expect(answer, `${name} in ${of.state}`).toMatchObject({ ok: true });
        change(of, gate?.id ?? '');
      } else expect(answer, `${name} in ${of.state}`).toMatchObject({ ok: false, status: 409 });
      await real.rests(run, of);
    },
    toString: () => `${name}(${run})`,
  };
}

const isOpen = ({ state }: ModelRun): boolean => state !== 'completed' && state !== 'cancelled';
const is =
  (...states: State[]) =>
  (model: ModelRun) =>
    states.includes(model.state);

function becomes(state: State): (model: ModelRun, gate: string) => void {
  return (model, gate) => {
    if (gate !== '') model.gone.push(gate);
    if (state === 'working') model.workedMs = 0;
    model.state = state;
  };
}

const launch: Command = {
  check: (model) => model.runs.length < 2,
  async run(model, real) {
    played.add('launch');
    const key = `key-${model.runs.length}`;
    const wanted = { projectId: PROJECT, workflow: 'errand', request: 'Go' };
    const view = await real.server.client.launchRun(wanted, key);
    expect((await real.server.client.launchRun(wanted, key)).id).toBe(view.id);
    model.runs.push({ state: 'asking', round: 0, workedMs: 0, gone: [] });
    real.ids.push(view.id);
    await real.rests(model.runs.length - 1, { state: 'asking', round: 0, workedMs: 0, gone: [] });
  },
  toString: () => 'launch',
};

const decided = (real: Real, runId: string, decision: Parameters<typeof real.server.client.decideOpenGate>[1]) =>
  answerOf(real.server.client.decideOpenGate(runId, decision));

/** Approves the gate that is open, as the draft of this round. */
const approved = async (real: Real, runId: string, round: number) => {
  const [gate] = await real.server.client.listGates(runId);
  const shown = gate === undefined ? {} : { gateId: gate.id };
  return decided(real, runId, { decision: 'approve', ...shown, artifactHash: hashOf(round) });
};

const perRun: readonly ((run: number) => Command)[] = [
  (run) =>
    toRun(
      'answer',
      run,
      is('asking'),
      (real, id) => decided(real, id, { decision: 'answer', response: 'Home' }),
      becomes('gate'),
    ),
  (run) => toRun('approve', run, is('gate'), (real, id, { round }) => approved(real, id, round), becomes('working')),
  (run) =>
    toRun(
      'approve what was not shown',
      run,
      () => false,
      (real, id, { round }) => approved(real, id, round + 1),
      () => undefined,
    ),
  (run) =>
    toRun(
      'reject',
      run,
      is('gate'),
      (real, id) => decided(real, id, { decision: 'reject', feedback: 'Again' }),
      (model, gate) => {
        becomes('gate')(model, gate);
        model.round += 1;
      },
    ),
  (run) =>
    toRun('retry', run, is('paused'), (real, id) => decided(real, id, { decision: 'retry' }), becomes('working')),
  (run) =>
    toRun(
      'cancel',
      run,
      isOpen,
      (real, id) => answerOf(real.server.client.cancelRun(id)),
      (model, gate) => {
        becomes('cancelled')(model, gate);
      },
    ),
  (run) =>
    toRun(
      'send a message',
      run,
      isOpen,
      (real, id) => answerOf(real.server.client.sendMessage(id, 'Mind the gap')),
      () => undefined,
    ),
  (run) => ({
    check: (model) => (model.runs[run]?.gone.length ?? 0) > 0,
    async run(model, real) {
      played.add('decide every gate that is gone');
      for (const gate of model.runs[run]?.gone ?? [])
        expect(await answerOf(real.server.client.decideGate(gate, { decision: 'approve' }))).toMatchObject({
          ok: false,
          status: 409,
        });
    },
    toString: () => `decide every gate that is gone(${run})`,
  }),
  (run) => ({
    check: (model) => model.runs[run]?.state === 'working',
    async run(model, real) {
      const of = model.runs[run];
      if (of === undefined) return;
      played.add('finish the work');
      await real.finish(real.id(run));
      of.state = 'completed';
      await real.rests(run, of);
    },
    toString: () => `finish the work(${run})`,
  }),
];

const passing = (ms: number): Command => ({
  check: () => true,
  async run(model, real) {
    played.add('time passes');
    for (const [run, of] of model.runs.entries()) {
      if (of.state !== 'working') continue;
      of.workedMs += ms;
      if (of.workedMs < WORK_MS) continue;
      of.state = 'paused';
      real.forgetWork(real.id(run));
    }
    await real.server.pass(ms);
    await allRest(model, real);
  },
  toString: () => `${ms} ms pass`,
});

const crash: Command = {
  check: () => true,
  async run(model, real) {
    played.add('crash');
    real.forgetWork();
    await real.server.crash();
    await allRest(model, real);
  },
  toString: () => 'crash',
};

const restart: Command = {
  check: () => true,
  async run(model, real) {
    played.add('restart');
    real.forgetWork();
    await real.server.restart();
    await allRest(model, real);
  },
  toString: () => 'restart',
};

async function allRest(model: Model, real: Real): Promise<void> {
  for (const [run, of] of model.runs.entries()) await real.rests(run, of);
}

const commands = fc.commands(
  [
    fc.constant(launch),
    fc.constant(crash),
    fc.constant(restart),
    fc.constantFrom(1_000, WORK_MS / 2, WORK_MS, 3_600_000).map(passing),
    // More of what leads on: a run is cancelled or sent back sooner than it is brought to its end.
    ...[...perRun, ...perRun.slice(0, 2), ...perRun.slice(0, 2), ...perRun.slice(-1)].map((command) =>
      fc.nat(1).map(command),
    ),
  ],
  // Long enough to come through a whole run; the default is far shorter.
  { maxCommands: 60, size: 'max' },
);

describe('the server against its model', () => {
  it('goes through every state by every command', async () => {
    const [answer, approve, stale, reject, retry, cancel, message, gone, finish] = perRun.map((command) => command(0));
    const other = perRun[5]?.(1);
    const way = [launch, crash, stale, message, answer, stale, reject, restart, approve, passing(WORK_MS), crash];
    const sequence = [...way, retry, gone, finish, cancel, launch, other].filter((command) => command !== undefined);
    await play(sequence);
    expect([...reached].sort()).toEqual(['asking', 'cancelled', 'completed', 'gate', 'paused', 'working']);
    expect([...played].sort()).toEqual([...NAMES].sort());
  });

  it('takes what the model takes, refuses the rest and forgets nothing, across crashes and any time', async () => {
    played.clear();
    await fc.assert(fc.asyncProperty(commands, play), { numRuns: 40 });
    expect(played).toContain('crash');
  });
});

async function play(sequence: Iterable<Command>): Promise<void> {
  const model: Model = { runs: [] };
  const real = await Real.start();
  try {
    await fc.asyncModelRun(() => ({ model, real }), sequence);
    for (const [run, of] of model.runs.entries()) await compare(real, real.id(run), of);
  } finally {
    await real.server.close();
  }
}

/** At the end the log gives the view, and each gate has one decision. */
async function compare(real: Real, runId: string, of: ModelRun): Promise<void> {
  const view = await real.server.client.getRun(runId);
  expect(view.state).toBe(of.state);
  const events = await real.server.events(runId);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index + 1));
  const folded = events.reduce<RunView | null>((before, event) => foldRun(before, event), null);
  expect({ ...folded, recordPlace: 'remote' }).toEqual(view);
  const decided = view.gates.map(({ gateId }) => gateId);
  expect(new Set(decided).size).toBe(decided.length);
  expect(decided).toEqual(of.gone.filter((gate) => decided.includes(gate)));
}
