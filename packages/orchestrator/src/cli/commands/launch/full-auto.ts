/** The command `full-auto`: carries a whole plan out and follows the run. */
import { type CommandLine, numberFrom } from '../../command-line.ts';
import { EXIT, exitCodeOf, UsageError } from '../../exit.ts';
import { followWatching } from '../../follow/follow-watching.ts';
import { type CliIo, say, sayJson } from '../../io.ts';
import { refusedBeside } from '../../launch/open-run.ts';
import { addPlace, addTopicEnd, startTopic, type TopicOptions } from '../../launch/topic-runs.ts';

const WORKFLOW = 'full-auto';

interface FullAutoOptions extends TopicOptions {
  readonly plan?: string;
  readonly attempts?: number;
  readonly maxIterations?: number;
}

export function addFullAuto(line: CommandLine): void {
  const command = addPlace(
    line.client(
      'full-auto <topic> [request...]',
      'researches, plans and builds feature by feature, and asks nobody until the end',
    ),
  )
    .option(
      '--plan <path>',
      'an existing plan in JSON, or its folder docs/research-TOPIC, in the repository; else it is researched and planned first',
    )
    .option('--attempts <count>', 'attempts at a feature; else 3', numberFrom(1, 10))
    .option('--max-iterations <count>', 'attempts at features in all; else 100', numberFrom(1, 100))
    .option('--review', 'asks you about each result and the whole before it is published');
  addTopicEnd(command, 'when no feature is left').action(
    line.ending((topic: string, request: string[], options: FullAutoOptions) =>
      fullAuto(line.io, topic, request.join(' '), options),
    ),
  );
}

async function fullAuto(io: CliIo, topic: string, request: string, options: FullAutoOptions): Promise<number> {
  const { plan, attempts: maxAttempts, maxIterations, json = false } = options;
  if (request.trim() === '')
    throw new UsageError(`Say what is to be built: ${io.program} full-auto "${topic}" "Your request"`);
  const input = { plan, maxAttempts, maxIterations };
  const started = await startTopic(io, { workflow: WORKFLOW, topic, request, input, options }).catch((error: unknown) =>
    refusedBeside(io, error),
  );
  const { client, run: launched } = started;
  if (options.detach) {
    if (json) sayJson(io, launched);
    else say(io, `${launched.id}\nFollow it with: ${io.program} watch ${launched.id}`);
    return EXIT.done;
  }
  if (!json) say(io, `run ${launched.id} on ${started.project}: full auto on ${topic}`);
  let isCutOff = false;
  const { run, gates } = await followWatching({
    client,
    io,
    runId: launched.id,
    json,
    onEvent: ({ type, payload }) => {
      if (type === 'FEATURES_ENDED') isCutOff = (payload as { kind?: unknown }).kind === 'iterations';
    },
  });
  const code = exitCodeOf(run, gates);
  const isCancelled = run.status === 'cancelled';
  return code === EXIT.notDone && isCutOff && !isCancelled ? EXIT.limit : code;
}
