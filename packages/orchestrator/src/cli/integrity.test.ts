/** verify, export and migrate with the real program, a real server and its database. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunView } from '@autonomous/shared';
import { createClient } from '@autonomous/shared/client';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { damageText } from '../event-store/sqlite/damage.fixture.ts';
import { type Finished, makePlace, type Place, type ServerProcess } from './program.fixture.ts';

const REQUEST = 'Create login flow with OAuth';

let place: Place;
let server: ServerProcess;
let runs: readonly string[];

beforeAll(async () => {
  place = makePlace();
  server = await place.serve();
  // One after the other: the first makes the project.
  runs = [await startRun(), await startRun()];
});
afterAll(() => place.remove());

const command = (...args: readonly string[]): Promise<Finished> => place.command(args, {}, place.clone);
const online = (...args: readonly string[]): Promise<Finished> =>
  place.command(args, { AUTONOMOUS_SERVER: server.url }, place.clone);
const view = async (id: string): Promise<RunView> => JSON.parse((await online('show', id, '--json')).stdout) as RunView;

/** A run that waits at its plan gate. */
async function startRun(): Promise<string> {
  const { stdout } = await online('run', REQUEST, '--json');
  return (JSON.parse(stdout.split('\n')[0] ?? '') as { workflowRunId: string }).workflowRunId;
}

/** From here on the tests build on each other: what one leaves the next one finds. */
describe('verify, export and migrate', () => {
  it('verify counts what is whole, beside the running server', async () => {
    const { exitCode, stdout } = await command('verify');
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^2 runs, \d{2,} events, 0 faults\n$/),
    });
  });

  it('verify says where there is no database', async () => {
    const nowhere = join(place.folder, 'nowhere');
    const { exitCode, stderr } = await command('verify', '--data', nowhere);
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`There is no database ${nowhere}`),
    });
  });

  it('export gives any run, and writes a file that only its owner reads', async () => {
    const [id = ''] = runs;
    const { exitCode, stdout } = await online('export', id);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ runId: id, unreadable: [] });
    expect(stdout).toContain(REQUEST);
    const file = join(place.folder, 'out.json');
    expect(await online('export', id, '--out', file)).toMatchObject({ exitCode: 0, stdout: `${file}\n` });
    expect(readFileSync(file, 'utf8')).toBe(stdout);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await online('export', 'r-404')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^There is no run 'r-404'\.\n/),
    });
  });

  it('export says where it cannot write', async () => {
    const [id = ''] = runs;
    for (const out of [join(place.folder, 'nowhere', 'out.json'), place.folder]) {
      const { exitCode, stderr } = await online('export', id, '--out', out);
      expect({ exitCode, stderr }).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`${out} cannot be written`),
      });
      expect(stderr).not.toContain('fault of the program');
    }
  });

  it('export reads the database beside its server, and changes nothing in it', async () => {
    const [id = ''] = runs;
    const marks = (): unknown => {
      const connection = new Database(join(place.data, 'orchestrator.db'), { readonly: true });
      const rows = connection.prepare(`SELECT * FROM marks WHERE name LIKE 'store.%'`).all();
      connection.close();
      return rows;
    };
    const before = marks();
    const { exitCode, stdout } = await command('export', id, '--data', place.data);
    expect({ exitCode, rows: JSON.parse(stdout) as unknown }).toMatchObject({ exitCode: 0, rows: { runId: id } });
    expect(marks()).toEqual(before);
    expect(await command('export', 'r-404', '--data', place.data)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("There is no run 'r-404'"),
    });
  });

  it('show gives the newest documents or the run as it was, not one for the other', async () => {
    const [id = ''] = runs;
    expect(await online('show', id, '--at', '1', '--plan')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('--plan is always the newest one'),
    });
  });

  it('migrate says why a run stays with its version', async () => {
    const [id = ''] = runs;
    expect(await online('migrate', id, '--to', '3')).toMatchObject({
      exitCode: 1,
      stderr: `Run ${id} has version 3 of 'build' already.\n`,
    });
    expect(await online('migrate', id, '--to', '99')).toMatchObject({
      exitCode: 1,
      stderr: "There is no version 99 of workflow 'build' on this server.\n",
    });
    expect((await online('migrate', id, '--to', 'newest')).exitCode).toBe(64);
  });

  it('verify names the run and the event that a stopped server finds damaged, and export still reads it', async () => {
    const [id = ''] = runs;
    const client = createClient({ baseUrl: server.url, token: readFileSync(join(place.data, 'token'), 'utf8').trim() });
    const last = (await client.listEvents(id, 0)).findLast((event) => event.origin === 'input');
    await server.stop();
    damageText(join(place.data, 'orchestrator.db'), String(last?.payload['key']));
    const { exitCode, stdout } = await command('verify');
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`run ${id}, event ${last?.sequence}: `);
    expect(stdout).toMatch(/\n2 runs, \d+ events, [1-9]\d* faults\n$/);
    expect((await command('export', id)).stdout).toContain(REQUEST);
    expect((await command('verify')).stdout).toBe(stdout);
    expect((await command('export', id, '--data', place.data)).stdout).toContain(REQUEST);
  });

  it('H07: the server sets the damaged run aside with the event, exports it, and the other one goes on', async () => {
    const [damaged = '', whole = ''] = runs;
    server = await place.serve();
    const { gate, status, lastSequence } = await view(damaged);
    expect({ status, gate }).toMatchObject({
      status: 'paused',
      gate: { reason: 'poisoned', summary: expect.stringMatching(/event \d+/) },
    });
    await vi.waitFor(
      () => expect(readdirSync(join(place.data, 'exports'))).toEqual([`${damaged}-${lastSequence}.json`]),
      30_000,
    );
    expect(await online('retry', damaged)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('is damaged and cannot resume'),
    });
    expect((await view(whole)).gate?.kind).toBe('plan');
    expect((await online('reject', whole, '--feedback', 'smaller')).exitCode).toBe(0);
    expect((await online('cancel', damaged)).exitCode).toBe(0);
  });
});
