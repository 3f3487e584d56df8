/** A server that is stopped soon after its start, while the records of its projects are still being compared. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startOrchestrator } from '../../src/compose.ts';
import { readServerConfig } from '../../src/config.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStep, NOON } from '../../src/event-store/sqlite/steps.fixture.ts';
import { createUnsandboxedProvider } from '../../src/sandboxes/unsandboxed.ts';
import { git, makeRemote } from '../fixtures/orchestrator.fixture.ts';

it('a server that is stopped while it compares a record writes it before it ends', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-record-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const repository = path.join(folder, 'remote.git');
  await makeRemote(repository, { 'README.md': '# Notes\n' });
  const config = readServerConfig({ AUTONOMOUS_DATA: path.join(folder, 'data'), ORCHESTRATOR_PORT: '0' });
  const start = (instrument?: Parameters<typeof startOrchestrator>[0]['instrument']) =>
    startOrchestrator({
      config,
      log: pino({ level: 'silent' }),
      sandboxes: createUnsandboxedProvider(),
      ...(instrument ? { instrument } : {}),
    });
  await (await start()).stop();
  const store = openSqliteEventStore({ file: config.databasePath });
  await store.saveProject({ id: 'p-1', name: 'notes', repository, baseBranch: 'main', createdAt: NOON });
  const events = [anEvent('RUN_STARTED'), anEvent('RUN_COMPLETED')];
  await store.append(aStep('r-1', { events, view: { projectId: 'p-1', status: 'completed' } }));
  await store.close();

  const server = await start((tools) => ({
    ...tools,
    repository: new Proxy(tools.repository, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          // The remote takes its time.
          if (name === 'fetchRecord') await delay(300);
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    }),
  }));
  await server.stop();

  const files = await git('--git-dir', repository, 'ls-tree', '-r', '--name-only', 'autonomous/record');
  expect(files).toContain('.autonomous/runs/r-1/events.jsonl');
});
