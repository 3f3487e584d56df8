/** A repository of many small files, written as one stream to `git fast-import`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';

export const MANY_FILES = 60_000;
const FILES_PER_FOLDER = 100;
const DATE = '1700000000 +0000';

/**
 * Commits `count` modules, a test and a manifest to `main` of a bare repository.
 * @returns id of the commit, always the same for the same count
 */
export async function manyFiles(repository: string, count: number): Promise<string> {
  const child = spawn('git', ['-C', repository, 'fast-import', '--quiet'], { stdio: ['pipe', 'ignore', 'pipe'] });
  const [said] = await Promise.all([
    text(child.stderr),
    pipeline(Readable.from(stream(count)), child.stdin),
    once(child, 'close'),
  ]);
  if (child.exitCode !== 0) throw new Error(`git fast-import failed: ${said.trim()}`);
  const head = spawn('git', ['-C', repository, 'rev-parse', 'refs/heads/main'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return (await text(head.stdout)).trim();
}

function* stream(count: number): Generator<string> {
  yield `commit refs/heads/main\ncommitter Many Files <many@example.com> ${DATE}\n${data('Many files')}`;
  yield file('package.json', '{"name":"many-files","private":true,"type":"module","scripts":{"test":"node --test"}}\n');
  yield file(
    'test/sum.test.mjs',
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { value } from '../src/000/000.mjs';\n\ntest('has a value', () => assert.equal(value, 0));\n",
  );
  for (let index = 0; index < count; index++) {
    const folder = three(Math.floor(index / FILES_PER_FOLDER));
    yield file(`src/${folder}/${three(index % FILES_PER_FOLDER)}.mjs`, `export const value = ${index};\n`);
  }
}

function file(path: string, content: string): string {
  return `M 100644 inline ${path}\n${data(content)}`;
}

function data(content: string): string {
  return `data ${Buffer.byteLength(content)}\n${content}\n`;
}

function three(number: number): string {
  return String(number).padStart(3, '0');
}
