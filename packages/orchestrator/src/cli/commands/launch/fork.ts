/** The command `fork`: starts a new run from a point in the history of another. */
import { type GateDecision, type RunConfigRequest, runConfigRequestSchema, shownAt, vouches } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { collect, collectModels, type CommandLine, type JsonOptions, numberFrom } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { confirmFork, namedHashes, type ShownOptions, withConcerns } from '../../gates/decided-gate.ts';
import { CommandFailure, UsageError } from '../../exit.ts';
import { followStarted } from '../../follow/follow-started.ts';
import { type CliIo, hasPerson, say } from '../../io.ts';
import { shownOptions } from '../../run-texts.ts';

interface ForkOptions extends JsonOptions, ShownOptions {
  readonly at: number;
  readonly model?: Readonly<Record<string, string>>;
  readonly config?: readonly string[];
  readonly answer?: string;
  readonly request?: string;
  readonly detach?: boolean;
}

export function addFork(line: CommandLine): void {
  line
    .client('fork <run>', 'starts a new run where another was after one of its events')
    .requiredOption('--at <event>', 'number of that event, as history shows it', numberFrom(1, Number.MAX_SAFE_INTEGER))
    .option('--model <role=model>', 'another model for a role of its workflow; may be repeated', collectModels)
    .option('--config <key=value>', 'another setting, such as trustMode.fixes=manual; may be repeated', collect)
    .option(
      '--answer <decision>',
      'decides the open gate: approve, retry, ignore, reject=…, accept=…, ask=…, extend=MINUTES, or an answer',
    )
    .option('--gate <id>', 'the gate that --answer is of, as show --at prints it')
    .option('--hash <hash>', 'what it showed, from the same line')
    .option('--request <text>', 'another request')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(line.ending((runId: string, options: ForkOptions) => fork(line.io, runId, options)));
}

async function fork(io: CliIo, runId: string, options: ForkOptions): Promise<number> {
  const { at, model = {}, config = [], answer: decision, request } = options;
  const change = configFrom(config, model);
  const wanted = {
    at,
    ...(Object.keys(change).length === 0 ? {} : { config: change }),
    ...(request === undefined ? {} : { request }),
  };
  const client = await connect(io, options.server);
  const answer =
    decision === undefined ? undefined : await answerThen(client, io, runId, at, decisionFrom(decision), options);
  const forked = await client.forkRun(runId, answer === undefined ? wanted : { ...wanted, answer });
  if (!options.json && !options.detach) say(io, `run ${forked.id}, forked from ${runId} at event ${at}`);
  return followStarted(io, client, forked, `fork of ${runId}`, options);
}

/** The answer of a fork, bound to the gate that was open after the event and what that gate showed. */
async function answerThen(
  client: Client,
  io: CliIo,
  runId: string,
  at: number,
  answer: GateDecision,
  given: ShownOptions,
): Promise<GateDecision> {
  const hashes = namedHashes(given);
  if (given.gate !== undefined) return { ...answer, gateId: given.gate, ...hashes };
  const { gate } = await client.getRun(runId, at);
  // The server says why there is nothing to decide.
  if (gate === null || !vouches(answer.decision)) return answer;
  if (hasPerson(io)) {
    await confirmFork(client, io, gate, answer.decision);
    return { ...answer, ...shownAt(gate) };
  }
  throw new CommandFailure(
    `${answer.decision === 'accept' ? 'Accepting' : 'Approving'} without a terminal needs the gate and hash. Read the gate ("${gate.summary}") with ${io.program} show ${runId} --at ${at}, then add:\n  ${shownOptions(gate)}${withConcerns(gate, answer.decision)}`,
  );
}

/**
 * A configuration from settings such as `trustMode.planning=auto`; values are JSON, or text where they are none.
 * @throws {UsageError} naming every setting that is none
 */
export function configFrom(settings: readonly string[], models: Readonly<Record<string, string>>): RunConfigRequest {
  const config: Record<string, unknown> = Object.keys(models).length === 0 ? {} : { modelRouting: { ...models } };
  for (const setting of settings) {
    const [, section = '', name, text] = /^([a-zA-Z]+)(?:\.([a-zA-Z]+))?=(.*)$/s.exec(setting) ?? [];
    if (text === undefined) {
      throw new UsageError(`'${setting}' is not a setting. Write it as trustMode.planning=auto or maxFixAttempts=5.`);
    }
    const value = jsonOr(text);
    config[section] = name === undefined ? value : { ...(config[section] as object | undefined), [name]: value };
  }
  const parsed = runConfigRequestSchema.safeParse(config);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'all settings'}: ${issue.message}`);
  throw new UsageError(`These settings are not a valid run configuration:\n${faults.join('\n')}`);
}

/**
 * A gate's decision from one argument: `approve`, `retry`, `ignore`, `reject=…`, `ask=…`, `accept=…`, `extend=MINUTES`, `close=…`;
 * anything else is the answer to a question.
 */
export function decisionFrom(text: string): GateDecision {
  if (text === 'approve' || text === 'retry' || text === 'ignore') return { decision: text };
  const [, decision, words = ''] = /^(reject|answer|ask|accept|extend|close)=(.*)$/s.exec(text) ?? [];
  switch (decision) {
    case 'reject':
      return { decision, feedback: words };
    case 'ask':
      return { decision, question: words };
    case 'accept':
    case 'close':
      return { decision, reason: words };
    case 'extend':
      if (!(Number(words) > 0)) throw new UsageError(`'${words}' is not a number of minutes. Give a number above 0.`);
      return { decision, minutes: Number(words) };
    default:
      return { decision: 'answer', response: decision === 'answer' ? words : text };
  }
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
