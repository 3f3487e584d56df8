/** Runs that a real server stored: a process of its own, real git, a sandbox, the demo's script in place of models. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { WorkflowEvent } from '@autonomous/shared';
import { RunUnderTest } from '../test/fixtures/run-under-test.fixture.ts';

export interface RealRun {
  readonly shows: string;
  readonly events: readonly WorkflowEvent[];
}

/** What the demo's script asks a person: the plan, and one question. */
const GATES = 2;

type Play = (run: RunUnderTest) => Promise<void>;

/** The implementer has read the project and written nothing yet. */
const STALL = { role: 'implementer', call: 2, turn: 2 } as const;

const PLAYS: Readonly<Record<string, Readonly<Record<string, Play>>>> = {
  build: {
    'from the request to the merge': finish,
    'rejected once, then cancelled': async (run) => {
      await run.until('APPROVAL_REQUESTED');
      await run.client.decideOpenGate(run.id, { decision: 'reject', feedback: 'Keep the states in a file.' });
      await run.until('APPROVAL_REJECTED');
      await run.client.cancelRun(run.id, 'Only a trial.');
      await run.until('RUN_CANCELLED');
    },
    'killed in the middle of the implementation': async (run) => {
      await run.decide();
      await run.decide();
      await run.untilProgress('implementer', 'tool_call', /test\/login\.test\.js/);
      await run.kill();
      await run.restart();
      await finish(run);
    },
  },
};

/** Plays a workflow's runs one after the other; takes about ten seconds each. */
export async function realRuns(workflow: string): Promise<readonly RealRun[]> {
  const compileCache = await mkdtemp(path.join(tmpdir(), 'golden-cache-'));
  try {
    const runs: RealRun[] = [];
    for (const [shows, play] of Object.entries(PLAYS[workflow] ?? {})) {
      const stalls = shows.startsWith('killed');
      const run = await RunUnderTest.launch({ compileCache, ...(stalls ? { stall: STALL } : {}) });
      try {
        await play(run);
        runs.push({ shows, events: withoutPlace(run) });
      } finally {
        await run.remove();
      }
    }
    return runs;
  } finally {
    await rm(compileCache, { recursive: true, force: true });
  }
}

async function finish(run: RunUnderTest): Promise<void> {
  while (run.decided < GATES) await run.decide();
  await run.until('RUN_COMPLETED');
}

/** The run's events without what is of this machine and this minute: its folder, the run's and the project's random names. */
function withoutPlace({ heard, launched }: RunUnderTest): readonly WorkflowEvent[] {
  const text = JSON.stringify(heard)
    .replaceAll(new RegExp(`${tmpdir()}/autonomous-crash-[^/"\\\\]+`, 'g'), '/place')
    .replaceAll(launched.id, 'r1')
    .replaceAll(launched.projectId, 'notes-1');
  return JSON.parse(text) as readonly WorkflowEvent[];
}
