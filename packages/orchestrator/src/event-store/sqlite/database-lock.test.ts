import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findLockHolder, lockFile } from './database-lock.ts';

let file: string;
beforeEach(() => {
  file = path.join(mkdtempSync(path.join(tmpdir(), 'lock-')), 'folder.lock');
});
afterEach(() => rmSync(path.dirname(file), { recursive: true, force: true }));

const words = { what: 'the folder', way: 'name another one' };

it('names the process that holds the lock, for as long as it does', () => {
  expect(findLockHolder(file)).toBeNull();
  expect(existsSync(file)).toBe(false);
  const lock = lockFile(file, words);
  expect(findLockHolder(file)).toBe(process.pid);
  lock.release();
  expect(findLockHolder(file)).toBeNull();
});

it('finds the holder of a lock without taking the lock or changing its file', () => {
  lockFile(file, words).release();
  const before = [readFileSync(file), statSync(file).mtimeMs] as const;
  expect(findLockHolder(file)).toBeNull();
  expect([readFileSync(file), statSync(file).mtimeMs]).toEqual(before);
  expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)]);
  const lock = lockFile(file, words);
  expect(findLockHolder(file)).toBe(process.pid);
  expect(() => lockFile(file, words)).toThrow(`Another server (pid ${process.pid}) is using the folder.`);
  lock.release();
});

it('is taken by a server that starts while somebody looks', async () => {
  lockFile(file, words).release();
  const looker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const lock = new (require(workerData.sqlite))(workerData.file);
     lock.exec('BEGIN IMMEDIATE');
     parentPort.postMessage('held');
     setTimeout(() => lock.close(), 50);`,
    { eval: true, workerData: { file, sqlite: createRequire(import.meta.url).resolve('better-sqlite3') } },
  );
  await once(looker, 'message');
  const lock = lockFile(file, words);
  expect(findLockHolder(file)).toBe(process.pid);
  lock.release();
  await looker.terminate();
});
