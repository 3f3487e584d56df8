/** The program of the published package, by the Node versions that its manifest asks for. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'autonomous-node-'));
  for (const place of ['bin', 'src']) mkdirSync(path.join(folder, place));
  cpSync(path.join(import.meta.dirname, '../../bin/autonomous.ts'), path.join(folder, 'bin/autonomous.ts'));
  writeFileSync(path.join(folder, 'src/main.ts'), "console.log('started', process.argv.slice(2).join(' '));\n");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function start(engines: string) {
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module', engines: { node: engines } }));
  const args = ['--disable-warning=ExperimentalWarning', path.join(folder, 'bin/autonomous.ts')];
  const { NODE_COMPILE_CACHE: _ofTests, ...env } = process.env;
  return spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...env, XDG_CACHE_HOME: folder } });
}

it.each(['>=99', '>=99.2.0', `>=${process.versions.node.replace(/\d+$/, '999')}`])(
  'a Node older than %s is named with the one that is needed, and nothing is loaded',
  (engines) => {
    const { status, stderr, stdout } = start(engines);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr).toMatch(/^Autonomous needs Node [\d.]+ or newer, and \S+ is Node [\d.]+: install a newer one .*\n$/);
    expect(stderr).toContain(`needs Node ${engines.slice(2)} or newer`);
    expect(stderr).toContain(`is Node ${process.versions.node}:`);
  },
);

it.each(['>=22.18.0', '>=24', `>=${process.versions.node}`])('starts with a Node of %s', (engines) => {
  expect(start(engines)).toMatchObject({ status: 0, stdout: 'started serve\n', stderr: '' });
});

it('keeps what it has compiled for the next start, in the folder for caches', () => {
  start('>=24');
  expect(readdirSync(path.join(folder, 'autonomous/compiled'))).not.toEqual([]);
});
