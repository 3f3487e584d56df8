/** The project's install step: run once, its files there for agents and checks, never committed, without network unless allowed. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import { aScript, aServer, FILES, type Files, projectConfig, runs, writes } from '../fixtures/orchestrator.fixture.ts';

const TRUSTED = { trustMode: { planning: 'auto' as const } };
const withSetup = (setup: string, test = 'sh test/app.test.sh'): Files => ({
  ...FILES,
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { setup, test } } }),
});

describe('an install step', () => {
  it('found from a lockfile is run once; what it installed is in each folder and in no commit', async () => {
    const lock = {
      name: 'notes',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'notes', dependencies: { greeter: 'file:greeter' }, hasInstallScript: true },
        greeter: { version: '1.0.0' },
        'node_modules/greeter': { resolved: 'greeter', link: true },
      },
    };
    const scripts = {
      postinstall: 'date +%s%N > node_modules/stamp; echo cached > ~/cache',
      test: 'sh test/greeter.test.sh',
    };
    const server = await aServer({
      files: {
        'package.json': `${JSON.stringify({ name: 'notes', dependencies: lock.packages[''].dependencies, scripts }, null, 2)}\n`,
        'package-lock.json': `${JSON.stringify(lock, null, 2)}\n`,
        'greeter/package.json': '{ "name": "greeter", "version": "1.0.0" }\n',
        'greeter/index.js': "module.exports = 'hello';\n",
        'test/greeter.test.sh': countedTest(
          'node -p "require(\'greeter\')" && echo stamp $(cat node_modules/stamp ~/cache)',
        ),
      },
      script: aScript({
        implementer: [
          runs(
            'npm test > seen.txt',
            'echo forged > node_modules/stamp; echo forged > ~/cache; echo "module.exports = 7" > node_modules/extra.js',
          ),
        ],
      }),
    });
    const run = await server.launch('Use the greeter', TRUSTED);
    const done = await server.until(run, { status: 'completed' });

    const stamps = done.evidence.map(
      ({ commands }) => /^hello\nstamp (\d+ cached)$/m.exec(commands[0]?.output ?? '')?.[1],
    );
    expect(stamps[0]).toMatch(/^\d+ cached$/);
    expect(stamps[1]).toBe(stamps[0]);
    expect(await server.file(run.branch, 'seen.txt')).toContain(stamps[0]);
    const files = (await server.git('ls-tree', '-r', '--name-only', run.branch)).split('\n');
    expect(files.filter((file) => file.startsWith('node_modules'))).toEqual([]);
    expect(done.notices).toEqual([
      expect.stringContaining('The install step `npm ci` (from package-lock.json) has no network'),
    ]);
  });

  it('that fails pauses the run before a model is paid, with its output and what may be missing; a retry reads it anew', async () => {
    const server = await aServer({ files: withSetup('echo looking for it; echo "no such package" >&2; exit 7') });
    const run = await server.launch('Add the feature', TRUSTED);
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'setup_failed', stage: 'planning' });
    expect(await server.payloads(run.id, 'CALL_BOOKED')).toEqual([]);
    for (const words of [
      '(from configuration) failed with exit code 7',
      'looking for it',
      'no such package',
      'ALLOW_SETUP_NETWORK=true',
    ]) {
      expect(gate?.summary).toContain(words);
    }
    await server.commit(withSetup('true'));
    await server.decide(run, { decision: 'retry' });
    await server.until(run, { status: 'completed' });
  });

  it('that is slow gets half of the time for planning; then the run goes on and says so', async () => {
    let calls = 0;
    const registry = createServer((_request, response) => {
      calls += 1;
      if (calls > 1) response.end('package'); // The first call is never answered.
    });
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      registry.closeAllConnections();
      registry.close();
    });
    const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
    const server = await aServer({
      files: withSetup(`mkdir -p node_modules; curl -sf http://${host}/ > node_modules/log`),
      env: { EGRESS_ALLOW: `setup=internal:${host}` },
    });
    const run = await server.launch('Add the feature', { ...TRUSTED, timeoutMinutes: { planning: 0.4 } });
    const { notices } = await server.until(run, { status: 'completed' });
    expect(notices).toEqual([expect.stringContaining('(from configuration) did not end within 0.2 minutes')]);
    expect(calls).toBe(2);
  });

  it('has the network only where the server allows it, and agents have it never', async () => {
    let calls = 0;
    const registry = createServer((_request, response) => {
      calls += 1;
      response.end('package');
    });
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void registry.close());
    const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
    const get = `node -e "fetch('http://${host}').then((r) => { if (!r.ok) process.exit(9); console.log('reached'); }).catch(() => process.exit(9))"`;
    const files = withSetup(`mkdir -p node_modules && ${get} > node_modules/log`);

    const closed = await aServer({ files });
    const { gate } = await closed.until(await closed.launch('Add the feature', TRUSTED), { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'setup_failed', summary: expect.stringContaining('exit code 9') });
    expect(calls).toBe(0);

    const open = await aServer({
      files,
      env: { EGRESS_ALLOW: `setup=internal:${host}` },
      script: aScript({
        implementer: [
          runs(
            `cp node_modules/log setup.txt; ${get} > agent.txt || echo refused > agent.txt; curl -s http://registry.test/ > said.txt`,
          ),
        ],
      }),
    });
    const run = await open.launch('Add the feature', TRUSTED);
    await open.until(run, { status: 'completed' });
    expect(await open.file(run.branch, 'setup.txt')).toBe('reached\n');
    expect(await open.file(run.branch, 'agent.txt')).toBe('refused\n');
    expect(await open.file(run.branch, 'said.txt')).toContain('Refused: registry.test is not on the allow-list');
    expect(calls).toBe(1);
    // The refusal stands on the run.
    const transcript = await open.client.getTranscript(run.id);
    expect(transcript.filter(({ data }) => data?.['egressRefused'] !== undefined)).toMatchObject([
      {
        activity: 'implementer',
        text: 'Network: refused for the implementer: registry.test is not on the allow-list of this sandbox.',
        data: { egressRefused: { role: 'implementer', host: 'registry.test', port: 80, reason: 'host' } },
      },
    ]);
  });

  it('reaches fewer hosts where the project or the run says so, and never more', async () => {
    let calls = 0;
    const registry = createServer((_request, response) => {
      calls += 1;
      response.end('package');
    });
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void registry.close());
    const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
    const setup = `mkdir -p node_modules; curl -sf http://${host}/ > node_modules/log; true`;
    const commands = { setup, test: 'sh test/app.test.sh' };
    const server = await aServer({
      files: {
        ...FILES,
        '.autonomous/config.json': projectConfig({
          defaultRunConfig: { commands, egress: { setup: ['evil.test'], implementer: ['evil.test'] } },
        }),
      },
      env: { EGRESS_ALLOW: `setup=internal:${host}` },
    });
    const run = await server.launch('Add the feature', TRUSTED);
    const { notices } = await server.until(run, { status: 'completed' });
    expect(calls).toBe(0);
    expect(notices).toEqual([
      "The project's configuration lets the implementer reach evil.test, which this server does not allow: it is ignored.",
      "The project's configuration lets the setup reach evil.test, which this server does not allow: it is ignored.",
    ]);
    // A request is told at once.
    const asking = server.launch('Add the feature', { ...TRUSTED, egress: { implementer: [host] } });
    await expect(asking).rejects.toThrow(`This server does not let the implementer reach ${host}`);
  });
});

describe('a project without tests', () => {
  const files: Files = { 'README.md': '# Notes\n' };

  it('is asked for its checks once; without any, a person has to accept the result', async () => {
    const server = await aServer({
      files,
      script: aScript({ implementer: [writes({ 'a.txt': '1\n' }), writes({ 'a.txt': '2\n' })] }),
    });
    const run = await server.launch('Add the feature', TRUSTED);
    const { gate, clarificationCount } = await server.until(run, { gate: 'clarification' });
    expect(gate?.question).toMatchObject({ question: 'Which command checks this project?', responseType: 'text' });
    expect(gate?.decisions).toEqual(['answer']);
    expect(clarificationCount).toBe(0);
    await server.decide(run, { decision: 'answer', response: 'None' });
    const fix = await server.until(run, { gate: 'fix' });
    expect(fix.gate).toMatchObject({ details: { severity: 'major', accepts: [expect.stringContaining('no checks')] } });
    // Not asked again for the next result.
    await server.decide(run, { decision: 'retry', notes: 'Make it two.' });
    await server.until(run, { gate: 'fix' });
    await server.decide(run, { decision: 'accept', reason: 'It is only a text.' });
    const done = await server.until(run, { status: 'completed' });
    expect(done.evidence).toEqual([]);
    const report = await server.file(run.branch, `.autonomous/runs/${run.id}/validation-report.md`);
    expect(report).toContain('No command was run: there is no evidence for this result.');
    expect(report).toContain('Reason given: It is only a text.');
  });

  it('is checked with the command that a person names', async () => {
    const server = await aServer({ files, script: aScript({ implementer: [writes({ 'a.txt': 'x\n' })] }) });
    const run = await server.launch('Add the feature', TRUSTED);
    await server.until(run, { gate: 'clarification' });
    await server.decide(run, { decision: 'answer', response: 'grep -q x a.txt' });
    // Nothing counts the tests of such a command.
    const { gate } = await server.approveResult(run);
    expect(gate?.concerns).toContainEqual(expect.objectContaining({ kind: 'tests_unknown' }));
    const done = await server.until(run, { status: 'completed' });
    expect(done.evidence).toMatchObject([
      { mode: 'as_is', passed: true, commands: [{ command: 'grep -q x a.txt', exitCode: 0 }] },
      { mode: 'base_tests', passed: true },
    ]);
  });
});
