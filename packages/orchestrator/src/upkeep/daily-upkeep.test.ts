import type { Project } from '@autonomous/shared';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { DailyUpkeep, type UpkeepTask } from './daily-upkeep.ts';
import { ManualClock } from '../engine/engine.fixture.ts';

const HOUR_MS = 60 * 60_000;
const projects = ['shop', 'blog'].map((id) => ({ id }) as Project);

function anUpkeep(tasks: readonly UpkeepTask[]) {
  const clock = new ManualClock();
  const logged: { readonly projectId?: string; readonly msg: string }[] = [];
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number]) });
  const store = { listProjects: async () => ({ items: projects, nextCursor: null }) };
  return { clock, logged, upkeep: new DailyUpkeep({ store, clock, log, tasks }) };
}

it('does every task for every project once a day, and a failure holds up nothing else', async () => {
  const done: string[] = [];
  const { clock, logged, upkeep } = anUpkeep([
    async ({ id }) => {
      done.push(`clean ${id}`);
      if (id === 'shop') throw new Error('the remote is away');
      return 'cleaned';
    },
    async ({ id }) => {
      done.push(`move ${id}`);
      return null;
    },
  ]);
  upkeep.start();
  const day = ['clean shop', 'move shop', 'clean blog', 'move blog'];
  clock.advance(HOUR_MS);
  await expect.poll(() => done).toEqual(day);
  expect(logged.map(({ projectId, msg }) => [projectId, msg])).toEqual([
    ['shop', 'a part of the daily upkeep failed: the remote is away'],
    ['blog', 'cleaned'],
  ]);
  clock.advance(23 * HOUR_MS);
  expect(done).toEqual(day);
  clock.advance(2 * HOUR_MS);
  await expect.poll(() => done).toEqual([...day, ...day]);
  await upkeep.stop();
  clock.advance(48 * HOUR_MS);
  expect(done).toHaveLength(8);
});

it('ends a task when the server stops, and begins no other', async () => {
  const begun: string[] = [];
  const { clock, logged, upkeep } = anUpkeep([
    ({ id }, signal) => {
      begun.push(id);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    },
  ]);
  upkeep.start();
  clock.advance(HOUR_MS);
  await expect.poll(() => begun).toEqual(['shop']);
  await upkeep.stop();
  expect(begun).toEqual(['shop']);
  expect(logged).toEqual([]);
});
