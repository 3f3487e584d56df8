import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FileLock, lockFile } from './event-store/sqlite/database-lock.ts';
import { findHolder, lastAddressOf, lockIn, noteHolder } from './folder-holder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'holder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const url = 'http://127.0.0.1:3001';
const note = () => path.join(folder, 'server.json');
const lock = (): FileLock => lockFile(lockIn(folder), { what: 'the folder', way: 'name another one' });

it('is the process with the lock, at the address that it noted', async () => {
  const held = lock();
  expect(await findHolder(folder)).toEqual({ pid: process.pid, url: null });
  await noteHolder(folder, url);
  expect(await findHolder(folder)).toEqual({ pid: process.pid, url });
  held.release();
});

it('is nobody where a process that was killed left its note, although another one has its id now', async () => {
  lock().release();
  await noteHolder(folder, url);
  expect(await findHolder(folder)).toBeNull();
  expect(await lastAddressOf(folder)).toBe(url);
});

it('has no address where the note is of another process', async () => {
  writeFileSync(note(), JSON.stringify({ pid: process.ppid, url }));
  const held = lock();
  expect(await findHolder(folder)).toEqual({ pid: process.pid, url: null });
  held.release();
});

it('leaves no note of another process where its own cannot be written', async () => {
  mkdirSync(note());
  await noteHolder(folder, url);
  expect(existsSync(note())).toBe(false);
});
