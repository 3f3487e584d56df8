/**
 * An external agent as its makers publish it, with a model that plays the change of a repository. After its last file the agent
 * is killed with SIGKILL; its next process takes the session up.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AGENTS, INSIDE } from '../agents-e2e/agents.ts';
import { folderOf, installAgent } from '../agents-e2e/install.ts';
import { type Say, startModel } from '../agents-e2e/model.ts';
import type { FileWrite } from './script.ts';

/** How long the model lets the agent wait for an answer that it is killed before. */
const HOLD_MS = 120_000;
/** No real key; its name is the one that the entries of `agents-e2e` read. */
const KEY = 'sk-e2e-9f8e7d6c5b4a39281706';

export interface PlayedAgent {
  /** For the server's environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** Id of the model for a role. */
  readonly model: string;
  /** Processes that were killed so far. */
  readonly killed: () => number;
  stop(): Promise<void>;
}

/**
 * Installs the agent when it is first needed, and starts its model.
 * @param folder where its configuration is written
 */
export async function startAgent(name: string, folder: string, writes: readonly FileWrite[]): Promise<PlayedAgent> {
  const agent = AGENTS[name];
  if (agent === undefined) throw new Error(`There is no agent ${name}; there are ${Object.keys(AGENTS).join(', ')}.`);
  installAgent(name);
  const { tools } = agent;
  let killed = 0;
  const result = tools.write('/workspace/.autonomous/agent/result.json', '{"summary":"The function and its test."}');
  const steps: readonly Say[] = writes.flatMap(({ path: file, content, isNew }) => {
    const place = path.posix.join('/workspace', file);
    const write: Say = { text: `I write ${file}.`, tool: tools.write(place, content) };
    return isNew ? [write] : [{ text: `I read ${file}.`, tool: tools.read(place) }, write];
  });
  const model = await startModel(async ({ prompt, toolResults }) => {
    if (killed > 0 || prompt.includes('Your process was ended'))
      return prompt.includes('Your process was ended') && toolResults === 0
        ? { text: 'I go on.', tool: result }
        : { text: 'Done.' };
    const step = steps[toolResults];
    if (step !== undefined) return step;
    killed += await killAgents();
    await sleep(HOLD_MS, undefined, { ref: false });
    return { text: 'Too late.' };
  });
  // By name: an agent may speak to itself over 127.0.0.1, which then is not listed.
  const url = new URL(model.url);
  url.hostname = 'localhost';
  const entry = {
    ...agent.settings(url.origin),
    mounts: { [folderOf(name)]: INSIDE },
    permissions: { default: 'allow' },
    network: [`internal:${url.host}`],
  };
  const file = path.join(folder, 'agents.json');
  await writeFile(file, JSON.stringify({ [name]: entry }));
  return {
    variables: { AUTONOMOUS_AGENTS: file, E2E_MODEL_KEY: KEY },
    model: `acp:${name}`,
    killed: () => killed,
    stop: () => model.stop(),
  };
}

/** SIGKILL to the agent's own processes below this one; those of bubblewrap, which carry the same words, live on. */
async function killAgents(): Promise<number> {
  const parents = new Map<number, number>();
  for (const entry of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${entry}/status`, 'utf8').catch(() => '');
    parents.set(Number(entry), Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0));
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  let killed = 0;
  for (const pid of [...parents.keys()].filter(isOurs)) {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (!words.slice(0, 2).some((word) => word.startsWith(INSIDE))) continue;
    process.kill(pid, 'SIGKILL');
    killed += 1;
  }
  return killed;
}
