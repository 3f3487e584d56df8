/**
 * Looks up how long ago the new packages of a result were published. A package that was published yesterday is a risk.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { NewDependency } from '@autonomous/shared';
import { z } from 'zod';
import type { ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';
import { networkOf, refusalNotes } from '../egress.ts';
import { closeFolder, runFolder } from '../work-folders.ts';

/** Names that are asked for, at most: a person looks at so many one by one. */
const ASKED = 30;
const TIMEOUT_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
const NPM_NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
/** Files whose packages come from npm's registry, or from one that speaks as it does. */
const OF_NPM =
  /(?:^|\/)(?:package-lock|npm-shrinkwrap|package)\.json$|(?:^|\/)(?:pnpm-lock\.yaml|yarn\.lock|bun\.lock)$/;
/** Between the answers, on a line of its own. */
const MARK = '--- next ---';
const timesSchema = z.record(z.string(), z.string());

/**
 * The same packages with their age, where npm's registry tells it and the install step may reach it. Asked in a sandbox, with the
 * hosts of the install step. Nothing depends on the answer: where there is none, the age is left out.
 */
export async function withAges(
  tools: ActivityTools,
  context: Pick<ActivityContext, 'runId' | 'key' | 'signal' | 'startedAt' | 'progress'>,
  added: readonly NewDependency[],
): Promise<readonly NewDependency[]> {
  const { runId, signal, startedAt } = context;
  const isAsked = ({ name, file }: NewDependency): boolean => OF_NPM.test(file) && NPM_NAME.test(name);
  const names = [...new Set(added.filter(isAsked).map(({ name }) => name))].slice(0, ASKED);
  if (names.length === 0) return added;
  const { config } = await tools.view(runId);
  const network = await networkOf(tools, 'setup', config);
  if (network.allow.length === 0) return added;
  const answers = await ask(tools, context, network, names).catch((error: unknown) => {
    signal.throwIfAborted();
    // A registry that is away is no reason to stop: the install step has told of it already.
    if (error instanceof Error) return [];
    throw error;
  });
  const times = new Map(names.map((name, index) => [name, timesOf(answers[index] ?? '')]));
  return added.map((dependency) => {
    const published = isAsked(dependency) ? times.get(dependency.name)?.[dependency.version] : undefined;
    const ageMs = Date.parse(startedAt) - Date.parse(published ?? '');
    return Number.isNaN(ageMs) ? dependency : { ...dependency, ageDays: Math.max(0, Math.floor(ageMs / DAY_MS)) };
  });
}

async function ask(
  tools: ActivityTools,
  { runId, key, signal, progress }: Pick<ActivityContext, 'runId' | 'key' | 'signal' | 'progress'>,
  network: Awaited<ReturnType<typeof networkOf>>,
  names: readonly string[],
): Promise<readonly string[]> {
  const folder = path.join(runFolder(tools, runId), 'dependency-ages');
  await mkdir(folder, { recursive: true });
  const sandbox = await tools.sandboxes.open({
    key,
    folder,
    readOnly: [],
    network,
    onRefused: refusalNotes(progress, 'setup'),
    limits: tools.limits,
    signal,
  });
  try {
    const view = 'npm view --json --fetch-retries=0 --fetch-timeout=10000';
    const command = names.map((name) => `${view} '${name}' time 2> /dev/null; echo; echo '${MARK}'`).join('\n');
    const { stdout } = await sandbox.run({ command, timeoutMs: TIMEOUT_MS, signal, maxOutputBytes: 8 * 2 ** 20 });
    return stdout.split(`${MARK}\n`);
  } finally {
    await sandbox.dispose();
    await closeFolder(folder);
  }
}

/** When each version was published, by version; nothing where that is not what was answered. */
function timesOf(answer: string): Readonly<Record<string, string>> {
  try {
    return timesSchema.parse(JSON.parse(answer));
  } catch {
    return {};
  }
}
