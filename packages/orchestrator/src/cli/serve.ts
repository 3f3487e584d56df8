/** The command `serve`: starts the server, says where and how it is, and stops it on a signal. */
import { access, constants, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InvalidRequest, Unavailable } from '@autonomous/shared';
import { type Logger, pino } from 'pino';
import { EXIT, UsageError } from './exit.ts';
import { type CliIo, say } from './io.ts';
import { modelStatus } from './doctor/model-status.ts';
import { type RunningOrchestrator, startOrchestrator } from '../compose.ts';
import { createLearningScrubber, type Scrubber } from '../secrets/secrets.ts';
import { whyNoGit } from '../repository/installed-git.ts';
import { readServerConfig, type ServerConfig } from '../config.ts';
import { misspeltVariables } from '../server-setup/misspelt-variables.ts';
import { watchEventLoop } from '../engine/crashes/event-loop-watch.ts';
import { printable } from './follow/timeline.ts';

export interface ServeOptions {
  readonly port?: string;
  readonly host?: string;
  readonly data?: string;
  readonly record?: string;
}

/** A supervisor kills after ten seconds; what is not done by then is taken up at the next start. */
const STOP_WITHIN_MS = 9_000;

/**
 * Runs until SIGTERM or SIGINT; a second one ends the process at once.
 * @returns the exit code
 * @throws {UsageError} with every fault of the configuration
 * @throws {AutonomousError} when it cannot start: the port or the data folder is taken, the database is newer …
 */
export async function serve(options: ServeOptions, io: CliIo): Promise<number> {
  const config = configFrom(options, io);
  const scrubber = createLearningScrubber(config.secrets);
  const log = createLog(config, io, scrubber);
  for (const fault of misspeltVariables(Object.keys(io.env))) log.warn(fault);
  const signal = stopSignal(log);
  dieOnBugs(log);
  await prepareDataFolder(config.dataFolder);
  const endWatch = watchEventLoop({ dataFolder: config.dataFolder, endAfterMs: config.blockedLimitMs });
  const orchestrator = await startOrchestrator({ config, log, scrubber });
  try {
    if (!signal.aborted) say(io, await greeting(config, orchestrator));
    const failure = await Promise.race([aborted(signal), orchestrator.failed]);
    if (failure instanceof Error) {
      log.fatal(`The server ends, since nothing can be stored any more: ${failure.message}`);
      return EXIT.notDone;
    }
  } finally {
    await orchestrator.stop();
    await endWatch();
  }
  log.info('stopped');
  return EXIT.done;
}

/** The options win over the variables of the same meaning. */
function configFrom({ port, host, data, record }: ServeOptions, io: CliIo): ServerConfig {
  try {
    return readServerConfig({
      ...io.env,
      ...(port === undefined ? {} : { ORCHESTRATOR_PORT: port }),
      ...(host === undefined ? {} : { ORCHESTRATOR_HOST: host }),
      ...(data === undefined ? {} : { AUTONOMOUS_DATA: resolve(io.cwd, data) }),
      ...(record === undefined ? {} : { AUTONOMOUS_RECORD: resolve(io.cwd, record) }),
    });
  } catch (error) {
    if (error instanceof InvalidRequest) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

async function prepareDataFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    await access(join(folder, '.'), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Unavailable(
      `The data folder ${folder} cannot be made or written (${why}). Name another with --data or AUTONOMOUS_DATA.`,
      { cause: error },
    );
  }
}

/** One by one: `recursive` of Node's mkdir tries for ever where a folder like /proc refuses with ENOENT. */
async function makeFolder(folder: string): Promise<void> {
  const make = () => mkdir(folder, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await make();
  }
}

async function greeting(config: ServerConfig, { server, sandboxes, setup }: RunningOrchestrator): Promise<string> {
  const sandbox = await sandboxes.availability();
  const noGit = await whyNoGit();
  const models = modelStatus({ models: setup.models, defaultModels: () => setup.defaultModels() });
  const rows: readonly (readonly [string, string])[] = [
    ['address', server.url],
    ['sign in', `${server.createSignInLink()}  (one browser, once, within 10 minutes)`],
    ['token', config.token === null ? `in ${join(config.dataFolder, 'token')}` : 'as in AUTONOMOUS_TOKEN'],
    ['data', config.dataFolder],
    ...(config.workflows.names.length === 0 ? [] : [['own', config.workflows.names.join(', ')] as const]),
    ['sandbox', sandbox.ok ? sandbox.detail : `none, runs will wait: ${sandbox.reason}`],
    ...(sandbox.ok ? [] : [['', sandbox.remedy] as const]),
    ...(noGit === null ? [] : [['git', `none, runs will fail: ${noGit}`] as const]),
    ['models', models.detail],
    ...(models.ok ? [] : [['', models.way] as const]),
  ];
  return ['Autonomous is running', ...rows.map(([name, value]) => `  ${name.padEnd(9)}${value}`)].join('\n');
}

/** Aborts at the first SIGTERM or SIGINT. */
function stopSignal(log: Logger): AbortSignal {
  const controller = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(EXIT.notDone);
    log.info({ signal: name }, 'stopping');
    controller.abort();
    setTimeout(() => {
      log.warn('stopping takes too long; remaining work is recovered at the next start');
      process.exit(EXIT.done);
    }, STOP_WITHIN_MS).unref();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return controller.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** After an error that nobody caught nothing in memory is certain; what is stored is, and a restart goes on from it. */
function dieOnBugs(log: Logger): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'a fault of the program ends the server');
    process.exit(EXIT.notDone);
  });
}

/** JSON lines on stderr; on a terminal one readable line each. No secret that the server knows is in them. */
function createLog({ logLevel }: ServerConfig, { stderr }: CliIo, { scrub }: Scrubber): Logger {
  if (stderr.isTTY === true)
    return pino({ level: logLevel }, { write: (line) => void stderr.write(`${readableLine(scrub(line))}\n`) });
  const lines = pino.destination({ dest: 2, sync: true });
  return pino({ level: logLevel }, { write: (line) => void lines.write(scrub(line)) });
}

/**
 * A line of pino's as a person reads it: `12:01:02 error  a request failed: no such table  runId=k7f3q2`.
 * @param json one line that pino wrote
 */
export function readableLine(json: string): string {
  const { level, time, msg, err, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(json) as LogLine;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const label = (pino.levels.labels[level] ?? String(level)).padEnd(5);
  const facts = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const text = [msg, err?.message].filter((part) => part !== undefined).join(': ');
  return printable([clock, label, text, ...facts].join('  ')).replaceAll('\n', ' ');
}

interface LogLine {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly [fact: string]: unknown;
}
