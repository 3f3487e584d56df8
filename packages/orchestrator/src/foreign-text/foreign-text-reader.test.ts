/** The limit on memory of a reader, with a real worker whose tasks fill buffers while they keep it busy. */
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { ForeignTextReader } from './foreign-text-reader.ts';

const MB = 1024 * 1024;
/** Fills so many megabytes of buffers without giving way to anything, 16 in each 20 milliseconds. */
const WORKER = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ id, input: [megabytes] }) => {
  const buffers = [];
  for (let filled = 0; filled < megabytes; filled += 16) {
    buffers.push(Buffer.alloc(16 * ${MB}, 1));
    for (const until = performance.now() + 20; performance.now() < until; );
  }
  parentPort.postMessage({ kind: 'read', id, value: buffers.length });
});
parentPort.postMessage({ kind: 'ready' });
`;

interface Tasks extends Record<string, (...input: never[]) => unknown> {
  fill: (megabytes: number) => number;
}

function open(maxBytes: number | null): ForeignTextReader<Tasks> {
  const reader = new ForeignTextReader<Tasks>({ start: () => new Worker(WORKER, { eval: true }), maxBytes });
  onTestFinished(() => reader.close());
  return reader;
}

it('ends a worker whose buffers are larger than its limit, also while it is busy, and reads the next text', async () => {
  const reader = open(192 * MB);
  expect(await reader.read('fill', [960])).toEqual({ ok: false, why: 'took more memory to read than is given' });
  expect(await reader.read('fill', [32])).toEqual({ ok: true, value: 2 });
});

it('does not measure a worker without such a limit', async () => {
  expect(await open(null).read('fill', [320])).toEqual({ ok: true, value: 20 });
});
