/** Lists, sets, tests and removes keys of providers. */
import { text } from 'node:stream/consumers';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { InvalidRequest, type ProviderSetup, type Setup } from '@autonomous/shared';
import { type Client, ServerUnreachable } from '@autonomous/shared/client';
import { readServerConfig } from '../config.ts';
import { openDataFolder } from '../data-folder.ts';
import { findHolder } from '../folder-holder.ts';
import { keysFile } from '../server-setup/keys-file.ts';
import { openServerSetup, type SetupApi } from '../server-setup/server-setup.ts';
import type { JsonOptions } from './command-line.ts';
import { connect } from './connection.ts';
import { CommandFailure, EXIT, UsageError } from './exit.ts';
import { type CliIo, note, say, sayJson } from './io.ts';

export interface KeysOptions extends JsonOptions {
  readonly baseUrl?: string;
  readonly memory?: boolean;
  /** False with `--no-check`. */
  readonly check?: boolean;
}

export interface KeysRequest {
  readonly action: string;
  readonly provider: string | undefined;
  readonly options: KeysOptions;
}

const ACTIONS = ['list', 'set', 'test', 'remove'] as const;
type Action = (typeof ACTIONS)[number];

/**
 * @returns exit code 0 when it is done; of `test` only when the key works
 * @throws {UsageError} for an unknown action, a provider that is missing and a key that cannot be one
 */
export async function keys({ action, provider, options }: KeysRequest, io: CliIo): Promise<number> {
  const known = ACTIONS.find((each) => each === action);
  if (known === undefined)
    throw new UsageError(
      `There is no action '${action}'; there are ${ACTIONS.join(', ')}: ${io.program} keys set anthropic`,
    );
  if (known === 'list') return await list(options, io);
  if (provider === undefined)
    throw new UsageError(
      `Name a provider: ${io.program} keys ${known} anthropic (or openai, deepseek, openai-compatible)`,
    );
  const key = known === 'set' ? await readKey(io, provider, options.baseUrl !== undefined) : '';
  return await withSetup(io, options, (setup, isHere) => change(known, { provider, key, setup, isHere, options }, io));
}

interface Change {
  readonly provider: string;
  readonly key: string;
  readonly setup: KeysApi;
  /** No server runs: what is given is kept for its next start. */
  readonly isHere: boolean;
  readonly options: KeysOptions;
}

async function change(action: Exclude<Action, 'list'>, given: Change, io: CliIo): Promise<number> {
  const { provider, key, setup, isHere, options } = given;
  if (action === 'set' && options.memory === true && isHere)
    throw new CommandFailure('No server runs that could have the key in its memory. Start it, or leave --memory out.');
  const after =
    action === 'set'
      ? await setup.setKey(provider, {
          key,
          keep: options.memory === true ? 'memory' : 'file',
          check: options.check ?? true,
          ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
        })
      : action === 'test'
        ? await setup.testProvider(provider)
        : await setup.removeKey(provider);
  say(io, lineOf(after));
  if (action === 'set' && isHere)
    note(
      io,
      `No server runs that could use the key now. It is kept in ${keysFile(readServerConfig(io.env).dataFolder)} and counts at the server's next start.`,
    );
  return action === 'test' && after.status !== 'ready' ? EXIT.notDone : EXIT.done;
}

async function list(options: KeysOptions, io: CliIo): Promise<number> {
  return await withSetup(io, options, async (setup, isHere) => {
    const found = await setup.getSetup();
    if (options.json === true) sayJson(io, found);
    else {
      for (const provider of found.providers) say(io, lineOf(provider));
      for (const agent of found.agents) say(io, agentLine(agent));
      if (isHere) note(io, 'No server runs: this is what its next start finds.');
    }
    return EXIT.done;
  });
}

type KeysApi = Pick<SetupApi & Client, 'getSetup' | 'setKey' | 'testProvider' | 'removeKey'>;

/** The server that runs, or, where none does and none was named, the data folder. */
async function withSetup(
  io: CliIo,
  { server }: KeysOptions,
  work: (setup: KeysApi, isHere: boolean) => Promise<number>,
): Promise<number> {
  const isNamed = server !== undefined || (io.env['AUTONOMOUS_SERVER'] ?? '').trim() !== '';
  let away: unknown;
  try {
    const client = await connect(io, server);
    if (!isNamed) await client.me();
    return await work(client, false);
  } catch (error) {
    const isAway = error instanceof ServerUnreachable || error instanceof CommandFailure;
    if (isNamed || !isAway) throw error;
    away = error;
  }
  const config = readServerConfig(io.env);
  const folder = await openDataFolder(config.dataFolder).catch(async (refusal: unknown) => {
    // A process has the folder: what keeps it from being asked is the matter, and not that it runs.
    throw (await findHolder(config.dataFolder)) === null ? refusal : away;
  });
  try {
    const setup = await openServerSetup({ config, learn: () => {} });
    return await work(setup, true);
  } catch (error) {
    if (error instanceof InvalidRequest) throw new UsageError(error.message, { cause: error });
    throw error;
  } finally {
    folder.release();
  }
}

function lineOf({ id, status, source, hint, detail, keysUrl }: ProviderSetup): string {
  const from = source === null ? null : `from ${source === 'environment' ? 'the environment' : `the ${source}`}`;
  const words = [status.replaceAll('_', ' '), hint, from].filter((part) => part !== null).join(', ');
  const more = detail ?? (status === 'no_key' && keysUrl !== '' ? keysUrl : null);
  return `${id.padEnd(18)}${words}${more === null ? '' : `  ${more}`}`;
}

function agentLine({ id, status, version, detail, way }: Setup['agents'][number]): string {
  const words = [status.replaceAll('_', ' '), version].filter((part) => part !== null).join(', ');
  const more = [detail, way].filter((part) => part !== null).join(' ');
  return `${`acp:${id}`.padEnd(18)}${words}${more === '' ? '' : `  ${more}`}`;
}

/** From the terminal without showing it, or all of a pipe. */
async function readKey(io: CliIo, provider: string, mayBeEmpty: boolean): Promise<string> {
  const typed = io.stdin.isTTY === true ? await ask(io, provider) : await text(io.stdin);
  const key = typed.replace(/\r?\n$/, '');
  if (key === '' && !mayBeEmpty)
    throw new UsageError(
      `There is no key. Type it when asked, or give it by a pipe: ${io.program} keys set ${provider} < FILE`,
    );
  return key;
}

async function ask(io: CliIo, provider: string): Promise<string> {
  io.stderr.write(`Key of ${provider} (it is not shown): `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: io.stdin, output: silent, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    io.stderr.write('\n');
  }
}
