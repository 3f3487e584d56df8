/**
 * A process with nothing but an engine: opens the database that it is given, and does what it is told, a line each.
 * `prepare N` makes N runs that wait at their gate, and three that only the program before knows how to read; `start` starts
 * the engine; `approve` approves every waiting run and finishes its work; `show` says where all runs are. Each is answered by
 * one line of JSON. With `before` as second argument it is the program before.
 */
import { createInterface } from 'node:readline';
import type { JsonValue, RunStart } from '@autonomous/shared';
import { pino } from 'pino';
import { setup } from 'xstate';
import { openSqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { type ActivityContext, lookupIn } from '../core/activity.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { activity, defineWorkflow, type WorkflowDefinition } from '../core/definition.ts';
import { createRegistry } from '../core/registry.ts';
import { systemClock } from './clock.ts';
import { small } from './engine.fixture.ts';
import { Engine } from './engine.ts';

const [file = '', program] = process.argv.slice(2);
const store = openSqliteEventStore({ file });
const works = {
  retry: { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 },
  perform: (_input: never, { runId }: ActivityContext): Promise<JsonValue> => Promise.resolve(`done for ${runId}`),
};
const options = {
  store,
  workflows: createRegistry(
    program === 'before'
      ? [small, renamed('oldGate'), { ...small, version: 3 }, { ...small, version: 4 }]
      : [small, renamed('newGate'), { ...small, version: 4 }],
  ),
  findActivity: lookupIn({ draft: works, work: works }),
  clock: systemClock,
  log: pino({ level: 'silent' }),
  maxConcurrentRunsPerUser: 100_000,
  random: () => 0.5,
  scrub: <Value>(value: Value) => value,
};
const engine = new Engine(options);

/** The second version; a gate of another name than before is what nobody may do to a version that has runs. */
function renamed(gate: string): WorkflowDefinition {
  return defineWorkflow({
    name: 'small',
    version: 2,
    description: 'for tests',
    machine: setup({ actors: { work: activity<object, string>() } }).createMachine({
      id: 'small',
      initial: gate,
      on: { RUN_CANCELLED: '.cancelled' },
      states: {
        [gate]: {
          meta: { status: 'awaiting_approval', gate: { kind: 'plan', decisions: ['approve'], summary: () => gate } },
          on: { APPROVAL_GRANTED: 'working' },
        },
        working: { meta: { status: 'running' }, invoke: { id: 'worker', src: 'work', onDone: 'completed' } },
        completed: { type: 'final', meta: { status: 'completed' } },
        cancelled: { type: 'final', meta: { status: 'cancelled' } },
      },
    } as never) as never,
    signals: small.signals,
    migrations: { 1: (state) => ({ ...state, value: gate }) },
  });
}

const statusOf = new Map<string, string>();
let news = Promise.withResolvers<void>();
engine.subscribe((message) => {
  if (!('view' in message)) return;
  statusOf.set(message.view.id, message.view.status);
  news.resolve();
  news = Promise.withResolvers();
});

const startWith = (version: number): RunStart => ({
  projectId: 'p',
  userId: 'u',
  workflow: { name: 'small', version, fingerprint: 'f' },
  request: 'Do it',
  config: BUILT_IN_RUN_CONFIG,
  requestedConfig: {},
  branch: 'autonomous/x',
});

/** Resolves when the engine has told of so many runs that came to this status. */
async function untilAll(count: number, status: string): Promise<void> {
  while ([...statusOf.values()].filter((known) => known === status).length < count) await news.promise;
}

async function statuses(): Promise<{ readonly id: string; readonly status: string; readonly why: string | null }[]> {
  const runs = [];
  let cursor: string | undefined;
  do {
    const page = await store.listRuns({ limit: 200, cursor });
    for (const { id, status, gate } of page.items)
      runs.push({ id, status, why: gate?.reason ? `${gate.reason}: ${gate.summary}` : null });
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return runs;
}

const commands: Readonly<Record<string, (argument: string) => Promise<unknown>>> = {
  async prepare(count) {
    const good = Array.from({ length: Number(count) }, (_, index) => engine.launch(`r-${index}`, startWith(1)));
    await Promise.all([
      ...good,
      ...['state-is-gone', 'corrupt', 'ghost'].map((id) => engine.launch(id, startWith(1))),
      engine.launch('version-is-gone', startWith(3)),
    ]);
    await untilAll(Number(count) + 4, 'awaiting_approval');
    // A migration stores a snapshot with its step.
    await engine.migrate('state-is-gone', 2, 'me');
    await engine.migrate('corrupt', 4, 'me');
    return {};
  },
  async start() {
    await engine.start();
    return { open: (await store.listOpenRuns()).length };
  },
  async approve() {
    const waiting = (await statuses()).filter(({ status }) => status === 'awaiting_approval');
    const answers = await Promise.allSettled(
      waiting.map(({ id }) => engine.signal(id, 'APPROVAL_GRANTED', { by: 'me' })),
    );
    await untilAll(answers.filter(({ status }) => status === 'fulfilled').length, 'completed');
    return answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []));
  },
  show: statuses,
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', argument = ''] = line.split(' ');
  const answer = await commands[name]?.(argument);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await engine.stop();
await store.close();
