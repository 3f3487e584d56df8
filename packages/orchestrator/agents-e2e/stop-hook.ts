/**
 * The Stop hook in Claude Code as its makers publish it, with a model that plays a script. It runs beside the sandbox of the server: there,
 * the files of this machine that the hook's command names are not to be found.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { SETTINGS_PATH } from '../src/cli/hooks/claude-settings.ts';
import { parseHookInput } from '../src/cli/hooks/hook-input.ts';
import type { HookUnderTest } from './agents.ts';
import { folderOf } from './install.ts';
import { type Conversation, type Say, startModel } from './model.ts';
import { environmentOf, Session } from './session.ts';

const execute = promisify(execFile);

const CLI = path.join(import.meta.dirname, '..', 'src', 'main.ts');
const CLAIM = '<promise>PHASE_COMPLETE:implementing</promise>';
const MARK = '[autonomous-check]';
const PROMPTS: readonly [string, string, string] = ['Carry out the item.', 'And the tests?', 'Say hello.'];
const SAID = ['I stop here.', CLAIM, CLAIM, 'I stop again.', '<promise>ABORT</promise>', 'Hello.'];
const refusal = (phase: string): string =>
  [
    `${MARK} Work in progress: "Sign in by a link"`,
    `${MARK} Phase: ${phase}`,
    `${MARK} Complete the phase or output <promise>ABORT</promise> to stop`,
  ].join('\n');

/**
 * @param tell told of each thing that was seen to happen
 * @throws when anything else does
 */
export async function playStopHook(
  name: string,
  { program, variables }: HookUnderTest,
  tell: (text: string) => void,
): Promise<void> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'stop-hook-e2e-')));
  const repository = path.join(folder, 'repository');
  const env = environmentOf(folder);
  const inputs = path.join(folder, 'inputs.jsonl');
  const settings = settingsWith(`cat >> ${inputs}`);
  const settingsFile = path.join(repository, SETTINGS_PATH);
  const agentProgram = path.join(folderOf(name), 'node_modules/.bin', program);
  const heard: string[] = [];
  const model = await startModel(async (conversation) => answer(conversation, repository, heard));
  let session: Session | undefined;
  try {
    await makeRepository(repository, settings);
    await execute('node', [CLI, 'hook', 'install', '--project', repository], { env });

    session = await Session.open(agentProgram, repository, { ...env, ...variables(model.url) });
    await session.prompt(PROMPTS[0]);
    assert.deepEqual(heard, [PROMPTS[0], refusal('implementing'), refusal('implementing')]);
    tell(
      'is refused its stop, also with a claim that the roadmap does not bear out, and ends when the phase has moved',
    );

    await session.prompt(PROMPTS[1]);
    assert.deepEqual(heard.slice(3), [PROMPTS[1], refusal('testing')]);
    tell('is refused its stop in the next phase, and ends with ABORT');

    await session.end();
    await execute('node', [CLI, 'hook', 'uninstall', '--project', repository], { env });
    assert.equal(await readFile(settingsFile, 'utf8'), settings);
    session = await Session.open(agentProgram, repository, { ...env, ...variables(model.url) });
    await session.prompt(PROMPTS[2]);
    assert.deepEqual(heard.slice(5), [PROMPTS[2]]);
    tell('ends at once when the hook is taken away');

    const sent = (await readFile(inputs, 'utf8')).trim().split('\n').map(parseHookInput);
    assert.deepEqual(
      sent.map((input) => input.kind === 'stop' && [input.said, input.isContinuation]),
      SAID.map((text, index) => [text, [1, 2, 4].includes(index)]),
    );
    assert.ok(sent.every((input) => input.kind === 'stop' && input.sessionId !== null && input.promptId !== null));
    tell("sends what the hook reads: the agent's last message, the session and the prompt");
  } finally {
    await session?.end();
    await model.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** What the model says next. It follows from the number of requests, which the caller compares with what was heard. */
async function answer({ last }: Conversation, repository: string, heard: string[]): Promise<Say> {
  const words = wordsOf(last);
  // Claude Code asks for other things on its own, such as what a person might say next.
  if (!PROMPTS.includes(words) && !words.startsWith(MARK)) return { text: 'Nothing.' };
  heard.push(words);
  // The server would have moved it.
  if (heard.length === 3) await writeRoadmap(repository, 'testing');
  return { text: SAID[heard.length - 1] ?? 'Too much.' };
}

/** Our own words, or those of the hook, without what Claude Code puts before them. */
function wordsOf(message: string): string {
  const start = message.indexOf(MARK);
  const lines = (start === -1 ? message : message.slice(start)).trim().split('\n');
  return (start === -1 ? lines.slice(-1) : lines).join('\n');
}

/** The project has a hook of its own already. */
function settingsWith(command: string): string {
  return `${JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } })}\n`;
}

async function makeRepository(repository: string, settings: string): Promise<void> {
  for (const folder of ['roadmap', '.claude']) await mkdir(path.join(repository, folder), { recursive: true });
  await writeFile(path.join(repository, SETTINGS_PATH), settings);
  await writeRoadmap(repository, 'implementing');
  await execute('git', ['init', '--quiet', repository]);
}

async function writeRoadmap(repository: string, phase: string): Promise<void> {
  const items = [{ id: 'sign-in', title: 'Sign in by a link', workflowState: { phase } }];
  await writeFile(path.join(repository, 'roadmap/roadmap.json'), JSON.stringify({ items }));
}
