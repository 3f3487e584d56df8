import { PassThrough } from 'node:stream';
import type { RecordPlace } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { expect, it } from 'vitest';
import { aView } from '../../event-store/sqlite/steps.fixture.ts';
import { endOf } from './follow-started.ts';

it.each<[what: string, place: RecordPlace | null, told: string]>([
  ['its record is not on the remote yet', 'pending', 'Only the server has the run: its record is not on the remote'],
  ['its record is on the remote', 'remote', ''],
  ['its record stays on the server, as it was set up', 'server', ''],
  ['the server is away', null, ''],
])('tells a person who stops following a run what a lost data folder takes, where %s', async (_what, place, told) => {
  const run = aView('r-1', place === null ? {} : { recordPlace: place });
  const client: Pick<Client, 'getRun'> = {
    getRun: () => (place === null ? Promise.reject(new Error('away')) : Promise.resolve(run)),
  };
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io = { stdin: new PassThrough(), stdout, stderr, env: {}, cwd: '/', program: 'autonomous' };
  const followed = { run, interrupted: true, position: 1 };
  // Nothing else is asked of the server about a run without a result.
  await endOf(io, client as Client, followed as unknown as Parameters<typeof endOf>[2], false);
  const said = String(stderr.read() ?? '');
  expect(said).toContain('The run continues.');
  expect(said.replace(/The run continues\.[^]*/, '').trim()).toMatch(new RegExp(`^${told}${told === '' ? '$' : ''}`));
});
