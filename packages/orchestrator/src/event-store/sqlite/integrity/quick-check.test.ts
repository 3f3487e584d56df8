import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished, vi } from 'vitest';
import { quickCheck } from './quick-check.ts';
import { openSqliteEventStore } from '../sqlite-event-store.ts';
import { anEvent, aStep } from '../steps.fixture.ts';

it('finds pages that hold noise, and nothing in a file that is whole, while it is being written', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'quick-check-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'runs.db');
  const store = openSqliteEventStore({ file });
  for (let run = 1; run <= 50; run += 1)
    await store.append(aStep(`r-${run}`, { events: [anEvent('NOTICE', { message: 'x'.repeat(3_000) })] }));
  expect(await quickCheck(file)).toBeNull();
  await store.close();
  const connection = new Database(file);
  const pages = connection.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'workflow_steps'").pluck().get();
  connection.close();
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(4_096, 7), 0, 4_096, (Number(pages) - 1) * 4_096);
  closeSync(handle);
  expect(statSync(file).size).toBeGreaterThan(4_096);
  expect(await quickCheck(file)).toMatch(/has damaged pages .*The command `verify`.*restore a copy/);
});

it('says nothing of a file that is not there', async () => {
  expect(await quickCheck('/nowhere/runs.db')).toBeNull();
});

it('lets go of the file when it is ended, and makes none anew', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'quick-check-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'runs.db');
  await openSqliteEventStore({ file }).close();
  const ended = new AbortController();
  const told = vi.spyOn(Worker.prototype, 'emit');
  const terminated = vi.spyOn(Worker.prototype, 'terminate');
  onTestFinished(() => void vi.restoreAllMocks());
  const checked = quickCheck(file, ended.signal);
  ended.abort();
  expect(await checked).toBeNull();
  // Not while it loads SQLite's addon, which would end the process.
  const opened = told.mock.calls.findIndex(([name]) => name === 'message');
  expect(told.mock.invocationCallOrder[opened]).toBeLessThan(terminated.mock.invocationCallOrder[0] ?? 0);
  rmSync(folder, { recursive: true });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(existsSync(folder)).toBe(false);
  expect(await quickCheck(file, AbortSignal.abort())).toBeNull();
});
