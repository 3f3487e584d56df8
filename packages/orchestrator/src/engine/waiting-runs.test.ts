/** A thousand waiting runs and four that cannot be read, in a process that has nothing but an engine. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { foldRun } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { damageText } from '../event-store/sqlite/damage.fixture.ts';
import { openSqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { anActivity, anEvent } from '../event-store/sqlite/steps.fixture.ts';

const PROGRAM = fileURLToPath(new URL('./waiting-runs.fixture.ts', import.meta.url));
const GOOD = 1_000;

interface Listed {
  readonly id: string;
  readonly status: string;
  readonly why: string | null;
}

class EngineProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;
  stderr = '';

  constructor(...args: readonly string[]) {
    this.#child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, ...args]);
    this.#child.stderr.on('data', (text) => (this.stderr += String(text)));
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async tell(command: string): Promise<unknown> {
    this.#child.stdin.write(`${command}\n`);
    const answer = await this.#answers.next();
    if (answer.done) throw new Error(`the process ended: ${this.stderr}`);
    return JSON.parse(answer.value);
  }

  async end(): Promise<number | null> {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, 'close');
    return this.#child.exitCode;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

describe('J06: runs that cannot be read among a thousand that wait', () => {
  let folder: string;
  let file: string;
  let running: EngineProcess[];
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'waiting-'));
    file = path.join(folder, 'test.db');
    running = [];
  });
  afterEach(() => {
    for (const engine of running) engine.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const start = (...args: readonly string[]): EngineProcess => {
    const engine = new EngineProcess(file, ...args);
    running.push(engine);
    return engine;
  };

  it('are quarantined with a reason, the thousand go on, and the process stays up', async () => {
    const before = start('before');
    await before.tell('start');
    await before.tell(`prepare ${GOOD}`);
    expect(await before.end()).toBe(0);
    await addGhost();
    damageText(file, '"plan":"done for corrupt"');

    const engine = start();
    expect(await engine.tell('start')).toEqual({ open: GOOD + 4 });
    // Work that does not follow from its run is found before it begins.
    expect(await aside(engine)).toEqual({ ghost: expect.stringMatching(/^poisoned: .*open activities.*ghost\/99/) });

    const refused = (await engine.tell('approve')) as string[];
    expect(refused.toSorted()).toEqual([
      expect.stringMatching(/Run corrupt is quarantined \(poisoned\)/),
      expect.stringMatching(/Run state-is-gone is quarantined \(poisoned\).*oldGate/),
      expect.stringMatching(/Run version-is-gone is quarantined \(definition_missing\).*version 3/),
    ]);
    const runs = (await engine.tell('show')) as Listed[];
    expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(GOOD);
    expect(await aside(engine)).toEqual({
      ghost: expect.any(String),
      corrupt: expect.stringMatching(/^poisoned: ./),
      'state-is-gone': expect.stringMatching(/^poisoned: the stored state cannot be read: .*'oldGate'/),
      'version-is-gone': "definition_missing: Workflow 'small' version 3 is not registered on this server.",
    });
    expect(await engine.end()).toBe(0);
    expect(engine.stderr).toBe('');
  });

  /** Runs that are paused, with the reason. */
  async function aside(engine: EngineProcess): Promise<Readonly<Record<string, string | null>>> {
    const runs = (await engine.tell('show')) as Listed[];
    return Object.fromEntries(runs.filter(({ status }) => status === 'paused').map(({ id, why }) => [id, why]));
  }

  /** An activity that does not follow from the run's events. */
  async function addGhost(): Promise<void> {
    const store = openSqliteEventStore({ file });
    const [before, last] = [await store.loadView('ghost'), await store.tipOf('ghost')];
    const event = anEvent('MESSAGE_SENT', { by: 'me', text: 'boo' });
    const sequence = (last?.sequence ?? 0) + 1;
    const view = foldRun(before, { ...event, id: '', position: 0, workflowRunId: 'ghost', sequence });
    if (view === null) throw new Error('there is no run to haunt');
    await store.append({
      runId: 'ghost',
      expectedSequence: sequence - 1,
      events: [event],
      startActivities: [{ ...anActivity('ghost', 'haunter'), key: 'ghost/99/haunter' }],
      endActivities: [],
      setTimers: [],
      clearTimers: [],
      view,
      clarifications: [],
    });
    await store.close();
  }
});
