/** Whole runs of projects that have manifests and no lockfile, with what their own tools install. */
import { spawnSync } from 'node:child_process';
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aScript, aServer, type Fixture, writes } from '../fixtures/orchestrator.fixture.ts';

const hasPytest = spawnSync('/usr/bin/python3', ['-c', 'import pytest, venv'], { env: {} }).status === 0;
/** The registry that npm is configured with answers. */
const hasRegistry =
  spawnSync('npm', ['view', 'ms', 'version', '--fetch-timeout=5000', '--fetch-retries=0']).status === 0;

/** Waits for the steps one by one: installing takes its time on a machine that does other things, too. */
async function completed(server: Fixture, run: RunView): Promise<RunView> {
  await server.event(run.id, 'BASELINE_RECORDED');
  await server.event(run.id, 'EVIDENCE_RECORDED');
  return server.until(run, { status: 'completed' });
}

it.skipIf(!hasPytest)(
  'a Python package is installed into an environment outside of its folder, and its tests count',
  async () => {
    const server = await aServer({
      files: {
        'pyproject.toml':
          '[project]\nname = "shop"\nversion = "1.2"\ndependencies = []\n[project.scripts]\nshop = "shop:main"\n[dependency-groups]\ntest = ["pytest"]\n[build-system]\nrequires = ["no-such-builder"]\nbuild-backend = "no_such_builder"\n',
        'src/shop/__init__.py': 'def main():\n    print("open")\n',
        'tests/test_shop.py':
          'import subprocess, sys\nfrom importlib.metadata import version\n\ndef test_is_installed():\n    assert version("shop") == "1.2"\n    assert subprocess.check_output(["shop"], text=True) == "open\\n"\n    assert sys.prefix.endswith("/.venv")\n',
      },
      script: aScript({ implementer: [writes({ 'src/shop/cart.py': 'ITEMS = []\n' })] }),
    });
    const run = await server.launch();
    const done = await completed(server, run);
    expect(done.evidence[0]).toMatchObject({
      passed: true,
      commands: [{ command: 'python3 -m pytest' }],
      tests: { executed: 1 },
    });
    const changed = await server.git('diff', '--name-only', `main..${run.branch}`);
    expect(changed.split('\n').filter((file) => file !== '' && !file.startsWith('.autonomous/'))).toEqual([
      'src/shop/cart.py',
    ]);
  },
);

it.skipIf(!hasRegistry)('npm installs from the public registry by default, and writes no lockfile', async () => {
  const server = await aServer({
    files: {
      'package.json': '{ "scripts": { "test": "node --test" }, "devDependencies": { "ms": "2" } }\n',
      'ms.test.js':
        "require('node:test')('reads a day', () => require('node:assert').equal(require('ms')('1d'), 86400000));\n",
    },
    env: { ALLOW_SETUP_NETWORK: '' },
    script: aScript({ implementer: [writes({ 'day.js': 'module.exports = 86400000;\n' })] }),
  });
  const run = await server.launch();
  const done = await completed(server, run);
  expect(done.evidence[0]).toMatchObject({ passed: true, tests: { executed: 1 } });
  expect(await server.git('ls-tree', '-r', '--name-only', run.branch)).not.toMatch(/node_modules|package-lock/);
});
