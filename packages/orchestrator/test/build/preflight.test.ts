/** Missing needs of a project are reported before the planner is called, and a retry succeeds once they are met. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import { aServer, FILES, projectConfig } from '../fixtures/orchestrator.fixture.ts';

const testedBy = (test: string) => projectConfig({ defaultRunConfig: { commands: { test } } });

it('a program that the tests need and the sandbox lacks pauses the run before anything is paid; a retry finds it', async () => {
  // Not in /tmp, where a sandbox has a folder of its own.
  const programs = path.join(import.meta.dirname, `.programs-${process.pid}`);
  await mkdir(programs, { recursive: true });
  try {
    const server = await aServer({
      files: { ...FILES, '.autonomous/config.json': testedBy('check-notes test/app.test.sh') },
      env: { SANDBOX_PROGRAMS: programs },
    });
    const run = await server.launch();
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'setup_failed', stage: 'planning' });
    expect(gate?.summary).toContain('The program check-notes is not in the sandbox, and the tests');
    expect(gate?.summary).toContain('SANDBOX_PROGRAMS');
    expect(await server.payloads(run.id, 'COST_RECORDED')).toEqual([]);

    await writeFile(path.join(programs, 'check-notes'), '#!/bin/sh\nexec sh "$@"\n');
    await chmod(path.join(programs, 'check-notes'), 0o755);
    await server.decide(run, { decision: 'retry' });
    const done = await server.until(run, { status: 'completed' });
    expect(done.evidence[0]).toMatchObject({ passed: true });
  } finally {
    await import('node:fs/promises').then(({ rm }) => rm(programs, { recursive: true }));
  }
});

it('a manifest that no tool can read is named with its line', async () => {
  const server = await aServer({
    files: { 'package.json': '{\n  "scripts": {\n    "test": "sh test.sh",\n  }\n}\n', 'test.sh': countedTest('true') },
  });
  const run = await server.launch();
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.summary).toContain('package.json cannot be read (line 4)');
  await server.commit({ 'package.json': '{ "scripts": { "test": "sh test.sh" } }\n' });
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
});

it('what only may go wrong is a notice', async () => {
  const server = await aServer({
    files: {
      '.nvmrc': '8\n',
      'package.json': '{ "scripts": { "test": "sh test.sh" }, "devDependencies": { "left": "file:left" } }\n',
      'left/package.json': '{ "name": "left", "version": "1.0.0" }\n',
      'test.sh': countedTest('test -d node_modules/left'),
    },
  });
  const run = await server.launch();
  const done = await server.until(run, { status: 'completed' });
  expect(done.notices).toEqual([
    expect.stringMatching(/^\.nvmrc asks for node 8, and the sandbox has \d+/),
    expect.stringContaining('The install step `npm install --no-package-lock` (from package.json) has no network'),
    expect.stringContaining('package.json has no lockfile'),
  ]);
  const files = await server.git('ls-tree', '-r', '--name-only', run.branch);
  expect(files).not.toMatch(/package-lock|node_modules/);
});
