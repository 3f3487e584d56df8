/** Transcripts in real files. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Transcripts } from './transcripts.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'transcripts-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('the lines of a run whose data has a key are found, and no others', async () => {
  const transcripts = new Transcripts(folder);
  const line = { runId: 'r', activity: 'implement', kind: 'note', at: '2026-01-01T00:00:00.000Z' } as const;
  transcripts.add({ ...line, text: 'begins', data: { compaction: 'begins' } });
  transcripts.add({ ...line, text: 'says "compaction":', data: { by: 'ada' } });
  transcripts.add({ ...line, text: 'plain' });
  expect((await transcripts.marked('r', 'compaction')).map(({ text }) => text)).toEqual(['begins']);
  expect(await transcripts.marked('r', 'by')).toHaveLength(1);
  expect(await transcripts.marked('other', 'compaction')).toEqual([]);
});

it('a transcript is cut at 32 MB with a note at its end, also when the server was restarted in between', async () => {
  const add = async (transcripts: Transcripts, text: string): Promise<void> => {
    transcripts.add({ runId: 'r', activity: 'checkAsIs', kind: 'output', text, at: '2026-01-01T00:00:00.000Z' });
    await transcripts.flush();
  };
  const first = new Transcripts(folder);
  await add(first, 'begins');
  await add(first, 'x'.repeat(33 * 2 ** 20));
  await add(first, 'too late');
  const second = new Transcripts(folder);
  await add(second, 'too late');
  const lines = await second.read('r');
  expect(lines.map(({ kind, text }) => [kind, text.slice(0, 20)])).toEqual([
    ['output', 'begins'],
    ['output', 'x'.repeat(20)],
    ['note', 'The transcript has r'],
  ]);
  expect((await stat(path.join(folder, 'r.jsonl'))).size).toBeLessThan(34 * 2 ** 20);
  await add(second, 'another run is not concerned');
  second.add({ runId: 'other', activity: 'a', kind: 'text', text: 'said', at: '2026-01-01T00:00:00.000Z' });
  expect(await second.read('other')).toMatchObject([{ text: 'said' }]);
});
