/** The command `continue`: takes up the unfinished run of a topic, retries what is paused, and follows it. */
import { isEvent, type RunView } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import type { CommandLine, JsonOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { CommandFailure, UsageError } from '../../exit.ts';
import { type CliIo, note, say } from '../../io.ts';
import { watch } from '../watch.ts';

/** Runs that are looked at. */
const MOST_RUNS = 200;

export function addContinue(line: CommandLine): void {
  line
    .client(
      'continue [topic]',
      'goes on with the unfinished run of a topic; without one, with the only unfinished run of any',
    )
    .option('--json', 'events as JSON lines')
    .action(line.ending((topic: string | undefined, options: JsonOptions) => goOn(line.io, topic, options)));
}

async function goOn(io: CliIo, topic: string | undefined, options: JsonOptions): Promise<number> {
  const client = await connect(io, options.server);
  const all = await unfinished(client);
  const wanted = topic === undefined ? all : all.filter((work) => folded(work.topic) === folded(topic));
  const [first, ...others] = wanted;
  if (first === undefined)
    throw new CommandFailure(
      topic === undefined
        ? `No run of a topic is unfinished. Start one: ${io.program} research TOPIC REQUEST`
        : `No run of the topic '${topic}' is unfinished.${all.length === 0 ? '' : ` There are: ${listed(all)}`}`,
    );
  if (others.length > 0)
    throw new UsageError(
      topic === undefined
        ? `Several runs are unfinished; name the topic: ${listed(wanted)}`
        : `Several runs of that topic are unfinished; watch one of them: ${listed(wanted)}`,
    );
  const { run } = first;
  await retryPaused(io, client, run);
  return watch(io, run.id, options);
}

interface Work {
  readonly run: RunView;
  readonly topic: string;
}

const folded = (topic: string): string => topic.trim().toLowerCase();

const listed = (works: readonly Work[]): string =>
  works.map(({ topic, run }) => `'${topic}' (${run.workflow.name}, run ${run.id})`).join(', ');

/** Runs that a person started, and that have a topic. */
async function unfinished(client: Client): Promise<readonly Work[]> {
  const workflows = (await client.listWorkflows()).filter(({ input }) => hasTopic(input));
  const pages = await Promise.all(
    workflows.map(({ name }) => client.listRuns({ workflow: name, open: true, limit: MOST_RUNS })),
  );
  const runs = pages.flatMap(({ items }) => items).filter(({ parent }) => parent === undefined);
  const works = await Promise.all(runs.map(async (run) => ({ run, topic: await topicOf(client, run.id) })));
  return works.flatMap(({ run, topic }) => (topic === null ? [] : { run, topic }));
}

function hasTopic(schema: unknown): boolean {
  const { properties } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, unknown>> };
  return properties !== undefined && Object.hasOwn(properties, 'topic');
}

/** The topic that a run was launched with. */
async function topicOf(client: Client, runId: string): Promise<string | null> {
  const [first] = await client.listEvents(runId, 0, 1);
  if (first === undefined) return null;
  const input = isEvent(first, 'RUN_STARTED')
    ? first.payload.input
    : isEvent(first, 'RUN_QUEUED')
      ? first.payload.start?.input
      : undefined;
  const topic = input?.['topic'];
  return typeof topic === 'string' ? topic : null;
}

/** Retries the run and the runs below it where they are paused. What else waits for a person is shown by what follows. */
async function retryPaused(io: CliIo, client: Client, run: RunView): Promise<void> {
  const family = await client.listRuns({ treeId: run.treeId ?? run.id, open: true, limit: MOST_RUNS });
  const ids = new Set([run.id, ...family.items.map(({ id }) => id)]);
  const gates = (await client.listGates()).filter(
    (gate) => ids.has(gate.runId) && gate.kind === 'pause' && gate.decisions.includes('retry'),
  );
  if (gates.length === 0) return;
  for (const outcome of await client.retryGates(gates.map(({ id }) => id))) {
    const gate = gates.find(({ id }) => id === outcome.gateId);
    if (outcome.retried) say(io, `${gate?.runId ?? ''} goes on: it was paused (${gate?.reason ?? 'pause'})`);
    else note(io, `${gate?.runId ?? ''} does not go on: ${outcome.detail ?? 'no answer came'}`);
  }
}
