/**
 * The prompt of the synthesiser in a long research run, round by round: a real server that asks its models over HTTP, real git, and a
 * web of this machine. Each agent reports the 500 words that its role may have, each with its passages, and the texts of the report
 * grow until each has its full length.
 *
 * A round without its new findings, and a run that stops before its last round, fail the benchmark.
 *
 * Options: --rounds N (6 or more), --researchers N (1 to 5), --findings N (1 to 6) of each agent and round
 */
import { mkdir } from 'node:fs/promises';
import { FINAL_STATUSES, InvalidRequest } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { makePlace, removePlace } from '../demo/place.ts';
import { startLocalSite } from '../src/web-pages/local-web.fixture.ts';
import { startScriptedProvider } from '../test/fixtures/scripted-provider.fixture.ts';
import { startServerProcess } from '../test/fixtures/server-process.fixture.ts';
import type { BenchResult } from './bench.ts';
import { readNumbers } from './contest/options.ts';
import { rounded } from './contest/statistics.ts';
import { type LongResearch, pagesOf, scriptOf } from './research/long-research.ts';

export const name = 'research';
export const description = 'the prompt of the synthesiser after 30 rounds of research, beside that after 5';

/** The round with which all later ones are compared. */
const EARLY = 5;
/** Fact of the workflow's own. */
const ROUND_ENDED: string = 'ROUND_ENDED';
const LOOK_MS = 500;
const STALLED_MS = 300_000;
const KEY = 'a-key-of-a-bench';
const MODEL = 'openai-compatible:bench';

export async function run(args: readonly string[]): Promise<BenchResult> {
  const size = sizeOf(args);
  const bytes = await promptBytes(size);
  const [early = 0, last = 0, largest] = [bytes[EARLY], bytes[size.rounds], Math.max(...bytes)];
  return {
    table: {
      columns: ['round', 'bytes', 'beside round 5'],
      rows: bytes.map((each, round) => [round, each, rounded(each / early)]),
    },
    notes: [
      'Round 0 asks for the first questions. A prompt is the instructions and the message of one call, as they were sent.',
    ],
    figures: {
      rounds: size.rounds,
      promptBytes5: early,
      [`promptBytes${size.rounds}`]: last,
      largestPromptBytes: largest,
      [`promptGrowth${size.rounds}`]: rounded(last / early),
    },
  };
}

function sizeOf(args: readonly string[]): LongResearch {
  const size = readNumbers(args, { rounds: 30, researchers: 3, findings: 6 });
  if (size.rounds <= EARLY)
    throw new InvalidRequest(`--rounds ${size.rounds} is too few: the rounds are compared with round ${EARLY}.`);
  if (size.researchers > 5)
    throw new InvalidRequest(`--researchers ${size.researchers} is too many: a round has at most 5.`);
  if (size.findings > 6)
    throw new InvalidRequest(`--findings ${size.findings} is too many: an agent reports at most 6.`);
  return size;
}

/** Bytes of the synthesiser's prompts, from the one before the first round on. */
async function promptBytes(size: LongResearch): Promise<readonly number[]> {
  const site = await startLocalSite(pagesOf(size));
  const provider = await startScriptedProvider({
    script: scriptOf(size, site.origin),
    format: 'chat/completions',
    apiKey: KEY,
    faultFor: () => null,
  });
  const place = await makePlace(null, null);
  await mkdir(place.data, { recursive: true });
  const { PATH = '', HOME = '' } = process.env;
  const server = await startServerProcess({
    dataFolder: place.data,
    port: '0',
    env: {
      PATH,
      HOME,
      LOG_LEVEL: 'warn',
      WEB_ALLOW: `*,internal:127.0.0.1:${site.port}`,
      OPENAI_COMPATIBLE_BASE_URL: provider.baseUrl,
      OPENAI_COMPATIBLE_API_KEY: KEY,
      DEFAULT_PLANNER_MODEL: MODEL,
      DEFAULT_IMPLEMENTER_MODEL: MODEL,
      DEFAULT_VALIDATOR_MODEL: MODEL,
    },
  });
  try {
    const client = createClient({ baseUrl: server.url, token: server.token });
    const { id } = await client.createProject({ name: 'notes', repository: place.remote });
    const prompts = () =>
      provider.served().filter(({ role, turn, status }) => role === 'synthesiser' && turn === 1 && status === 200);
    await research(client, id, size, () => prompts().length > size.rounds);
    return prompts().map((served) => served.bytes);
  } finally {
    await server.end('SIGTERM');
    await provider.stop();
    await site.close();
    await removePlace(place, false);
  }
}

/**
 * Lets a run research until its last prompt was sent. The report is not compiled: that takes minutes for so many findings.
 * @param isOver true when the last prompt was sent
 */
async function research(
  client: Client,
  projectId: string,
  { rounds, researchers, findings }: LongResearch,
  isOver: () => boolean,
): Promise<void> {
  const { id } = await client.launchRun({
    projectId,
    workflow: 'research',
    request: 'How do the things of this web hang together, and in which state is each of them?',
    input: { topic: 'A long topic', researchers, analysts: 0, maxRounds: rounds, newFindings: findings },
    config: { git: { autoMerge: false } },
  });
  let sequence = 0;
  let movedAt = performance.now();
  while (!isOver()) {
    const view = await client.getRun(id);
    // The last prompt may have been sent while the server answered, and the run have ended since.
    if (isOver()) break;
    if (FINAL_STATUSES.has(view.status) || view.gate !== null)
      throw new Error(`The run is ${view.status}: ${view.gate?.summary ?? 'without a reason'}`);
    if (view.lastSequence > sequence) movedAt = performance.now();
    else if (performance.now() - movedAt > STALLED_MS)
      throw new Error(`The run has come no further than ${view.currentStage ?? view.status}`);
    sequence = view.lastSequence;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const kept = await findingsByRound(client, id);
  if (kept.length !== rounds || kept.some((each) => each !== researchers * findings))
    throw new Error(`The rounds brought ${kept.join(', ')} new findings`);
  await client.cancelRun(id, 'The last prompt is measured');
}

/** Findings that each round kept. */
async function findingsByRound(client: Client, id: string): Promise<readonly number[]> {
  const kept: number[] = [];
  let after = 0;
  while (true) {
    const events = await client.listEvents(id, after, 1_000);
    for (const { type, payload } of events)
      if (type === ROUND_ENDED) kept.push(Number((payload as { readonly kept?: unknown }).kept));
    const last = events.at(-1);
    if (last === undefined) return kept;
    after = last.sequence;
  }
}
