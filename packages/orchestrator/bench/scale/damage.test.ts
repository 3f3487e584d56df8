import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { damage, MARKER } from './damage.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'damage-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the damage', () => {
  it('changes the marked row of a database that a process left, and no other', () => {
    const file = path.join(folder, 'a.db');
    const left = new Database(file);
    left.pragma('journal_mode = WAL');
    left.exec('CREATE TABLE plans (text TEXT)');
    const insert = left.prepare('INSERT INTO plans VALUES (?)');
    for (const text of ['before', `${MARKER}.`, 'after']) insert.run(text);
    // As a killed process leaves it: everything is still in the write-ahead log.
    expect(damage(file, MARKER)).toBe(1);
    left.close();

    const opened = new Database(file);
    expect(opened.prepare('SELECT text FROM plans').pluck().all()).toEqual(['before', `?${MARKER.slice(1)}.`, 'after']);
    opened.close();
  });
});
