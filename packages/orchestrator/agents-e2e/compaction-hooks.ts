/** The hooks around a compaction in Claude Code as its makers publish it, with a model that plays a script. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { NO_TEXTS } from '../src/workflows/research/report/report-texts.ts';
import { renderState } from '../src/workflows/research/state-file.ts';
import type { HookUnderTest } from './agents.ts';
import { folderOf } from './install.ts';
import { startModel } from './model.ts';
import { recordRequests } from './request-recorder.ts';
import { environmentOf, Session } from './session.ts';

const execute = promisify(execFile);

const CLI = path.join(import.meta.dirname, '..', 'src', 'main.ts');
const TOPIC = 'docs/research-bells';
const PROMPT = 'Which bell is the oldest?';
const ANSWER = 'The bell of the tower, cast in 1471.';
const AFTERWARDS = 'And the youngest?';
const CLEARED = 'Which one is cracked?';
const MARK = '[autonomous-resume]';
/** As it stands in JSON. */
const TOLD = String.raw`${MARK} Work on the topic \"bells\" is in progress: Phase A: Research, iteration 1.`;

/**
 * @param tell told of each thing that was seen to happen
 * @throws when anything else does
 */
export async function playCompactionHooks(
  name: string,
  { program, variables }: HookUnderTest,
  tell: (text: string) => void,
): Promise<void> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'compaction-hooks-e2e-')));
  const repository = path.join(folder, 'repository');
  const env = environmentOf(folder);
  const model = await startModel(async () => ({ text: ANSWER }));
  const recorder = await recordRequests(model.url);
  const lastWith = (text: string): string => recorder.bodies.findLast((body) => body.includes(text)) ?? '';
  let session: Session | undefined;
  try {
    await makeRepository(repository);
    await execute('node', [CLI, 'hook', 'install', '--project', repository], { env });
    const agentProgram = path.join(folderOf(name), 'node_modules/.bin', program);
    session = await Session.open(agentProgram, repository, { ...env, ...variables(recorder.url) });
    await session.prompt(PROMPT);
    assert.equal(lastWith(MARK), '');

    await session.prompt('/compact');
    const transcripts = path.join(repository, TOPIC, 'transcripts');
    const files = (await readdir(transcripts)).filter((file) => file.endsWith('.jsonl'));
    assert.equal(files.length, 1);
    const kept = await readFile(path.join(transcripts, files[0] ?? ''), 'utf8');
    assert.ok(kept.includes(PROMPT) && kept.includes(ANSWER));
    const log = await readFile(path.join(transcripts, 'progress.txt'), 'utf8');
    assert.match(
      log,
      /^\S+ Checkpoint before compaction \(manual\), session [\da-f]{8}, Phase A: Research, iteration 1: /,
    );
    tell('keeps its transcript before its context is compacted');

    const isTold = async (prompt: string, after: string): Promise<void> => {
      await session?.prompt(prompt);
      const request = lastWith(prompt);
      assert.ok(request.includes(TOLD), `it was not told after ${after}: ${request.slice(0, 4_000)}`);
      assert.ok(request.includes(`${TOPIC}/transcripts/${files[0] ?? ''}`));
      tell(`is told after ${after} which topic it works on, and where to read on`);
    };
    await isTold(AFTERWARDS, '/compact');
    await session.prompt('/clear');
    await isTold(CLEARED, '/clear');
  } finally {
    await session?.end();
    await recorder.stop();
    await model.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function makeRepository(repository: string): Promise<void> {
  await mkdir(path.join(repository, TOPIC), { recursive: true });
  const rounds = [{ round: 1, agents: 4, failed: 0, kept: 3, known: 0, leftOut: 0 }];
  const counts = { quietRounds: 3, sourcesCited: 4, sourcesConsulted: 5, findings: 3 };
  const state = { slug: 'bells', status: 'in_progress', prompt: PROMPT, rounds, texts: NO_TEXTS, ...counts } as const;
  await writeFile(path.join(repository, TOPIC, 'bells-state.md'), renderState(state));
  await execute('git', ['init', '--quiet', repository]);
}
