/** Whole runs that are recorded by one server and played by another. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { expect, it, onTestFinished } from 'vitest';
import { DEMO_SCRIPT, startDemoServer } from '../fixtures/demo-server.fixture.ts';
import { aScript, aServer, FILES, runs } from '../fixtures/orchestrator.fixture.ts';
import { outcomeOf } from '../fixtures/run-outcome.fixture.ts';

// Made of two pieces, so that no scanner takes it for one.
const TOKEN = `ghp_${'a1B2c3D4'.repeat(5)}`;
const PROJECT = { ...FILES, 'NOTES.md': `The token is ${TOKEN}\n` };

/** Time for two runs, each with questions and a result that is fixed after failed checks. */
const TWO_RUNS = { timeout: 240_000 };

/** A whole run of the demo on a server of its own. */
async function demoRun(env: Readonly<Record<string, string>>) {
  const server = await startDemoServer(env);
  onTestFinished(server.stop);
  const run = await server.finish((await server.launch()).id);
  return { run, outcome: await outcomeOf(server, run) };
}

it('a run that asks, fails its checks and is fixed is played to the same end', TWO_RUNS, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cassettes-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const recorded = await demoRun({ AUTONOMOUS_SCRIPT: DEMO_SCRIPT, AUTONOMOUS_RECORD: folder });
  expect(recorded.outcome).toMatchObject({ status: 'completed', fixAttempts: 1 });
  const played = await demoRun({ AUTONOMOUS_SCRIPT: path.join(folder, `${recorded.run.id}.jsonl`) });
  expect(played.outcome).toEqual(recorded.outcome);
  expect(withoutModels(played.run.cost)).toEqual(withoutModels(recorded.run.cost));
});

it('a recorded run is played to the same end without its models; a change is named where it first differs', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cassettes-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const recording = await aServer({
    files: PROJECT,
    env: { AUTONOMOUS_RECORD: folder },
    script: aScript({ implementer: [runs('cat NOTES.md; date', 'echo "echo feature" > feature.sh; sh feature.sh')] }),
  });
  const run = await recording.launch();
  const recorded = await recording.until(run, { status: 'completed' });
  await recording.close();
  const cassette = await readFile(path.join(folder, `${run.id}.jsonl`), 'utf8');
  expect(cassette).not.toContain(TOKEN);
  expect(cassette).toContain('[secret]');

  const playing = await aServer({ files: PROJECT, script: cassette });
  const played = await playing.until(await playing.launch(), { status: 'completed' });
  expect(played.config.modelRouting['implementer']).toBe(`scripted:cassette-${run.id}`);
  expect(played.scriptedModels).toEqual([`scripted:cassette-${run.id}`]);
  expect(await playing.file(played.branch, 'feature.sh')).toBe('echo feature\n');
  expect(played.evidence.map(({ passed }) => passed)).toEqual(recorded.evidence.map(({ passed }) => passed));

  const other = await playing.launch('Add the other feature');
  const { gate } = await playing.until(other, { gate: 'pause' });
  expect(gate?.summary).toContain(
    'exchange 1 (planner 1, step 1) differs in the prompt\'s part "request".\n- Add the feature\n+ Add the other feature',
  );

  const changed = await aServer({ files: { ...PROJECT, 'AGENTS.md': 'Use tabs.\n' }, script: cassette });
  const paused = await changed.until(await changed.launch(), { gate: 'pause' });
  expect(paused.gate?.summary).toMatch(/exchange 1 \(planner 1, step 1\) differs in .*\n- .*\n\+ How the authors/);
});

/** What a cassette plays has another name than what it was recorded from. */
function withoutModels(cost: RunView['cost']): object {
  return { ...cost, parts: cost.parts?.map(({ model: _model, ...part }) => part) };
}
