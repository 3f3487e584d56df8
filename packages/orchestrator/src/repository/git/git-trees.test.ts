/** Files that are written for git. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

it('more files are written than may be open', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'git-trees-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const source = `
    const { writeEach } = await import(${JSON.stringify(new URL('./git-trees.ts', import.meta.url).href)});
    await writeEach(Array.from({ length: 600 }, (_, index) => [${JSON.stringify(`${folder}/`)} + index, 'content']));`;
  const script = 'ulimit -n 128; exec "$0" --disable-warning=ExperimentalWarning --input-type=module --eval "$1"';
  execFileSync('/bin/sh', ['-c', script, process.execPath, source]);
  expect(readdirSync(folder)).toHaveLength(600);
});
