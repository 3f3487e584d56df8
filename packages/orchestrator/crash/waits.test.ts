import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tell } from '../src/event-store/sqlite/stored-run.fixture.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { makePlace, makeRemote, type Place } from './place.ts';
import { readRepository } from './repository-state.ts';
import { missingInTheEnd, waitsWithout } from './waits.ts';

const AT = '2026-03-01T12:00:00.000Z';

it('misses the commits of a run that is paused, and not yet those of a run that is quarantined', async () => {
  const { place, commit } = await aPlaceWithoutRecord();
  const store = openSqliteEventStore({ file: path.join(place.data, 'orchestrator.db') });
  const pause = (reason: string) =>
    [
      AT,
      'RUN_PAUSED',
      {
        gate: 'pause',
        stage: 'publishing',
        decisions: ['retry'],
        summary: commit,
        details: {},
        reason,
        message: commit,
      },
    ] as const;
  await tell(store, 'refused', { createdAt: AT }, [pause('auth_expired')]);
  await tell(store, 'quarantined', { createdAt: AT }, [pause('poisoned')]);
  await store.close();
  expect(await waitsWithout(place)).toEqual([
    `run refused is paused, and the record on the remote does not lead to its commit ${commit}`,
  ]);
});

it('waits for the record of a quarantined run, and says what does not follow', async () => {
  const { signal } = new AbortController();
  let looks = 0;
  const isThereLater = async (): Promise<readonly string[]> => (++looks < 3 ? ['c-1'] : []);
  expect(await missingInTheEnd(isThereLater, signal)).toEqual([]);
  expect(looks).toBe(3);
  expect(await missingInTheEnd(async () => ['c-1'], signal, 100)).toEqual(['c-1']);
});

/** A remote without a record, whose only commit the server has. */
async function aPlaceWithoutRecord(): Promise<{ readonly place: Place; readonly commit: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-waits-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const template = path.join(folder, 'template.git');
  await makeRemote(template, { 'README.md': '# Notes\n' });
  const place = await makePlace(template);
  onTestFinished(() => place.remove());
  await mkdir(path.join(place.data, 'mirrors'), { recursive: true });
  await cp(place.remote, path.join(place.data, 'mirrors', 'p-1.git'), { recursive: true });
  const commit = (await readRepository(place.remote)).branches.get('main') ?? '';
  return { place, commit };
}
