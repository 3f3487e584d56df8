/** Dependencies of a project: installed once for all runs, never an agent's for another run; what an agent adds is shown. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import { asks, aScript, aServer, FILES, projectConfig, runs, tool, writes } from '../fixtures/orchestrator.fixture.ts';

const TRUSTED = { trustMode: { planning: 'auto' as const } };

describe('what an install step leaves', () => {
  const server = (implementer: Parameters<typeof aScript>[0]) =>
    aServer({
      files: {
        ...FILES,
        'package.json': '{ "name": "notes" }\n',
        'test/stamps.test.sh': countedTest('cat node_modules/stamp ~/store'),
        '.autonomous/config.json': projectConfig({
          defaultRunConfig: {
            commands: {
              setup: 'mkdir -p node_modules; date +%s%N > node_modules/stamp; date +%s%N > ~/store',
              test: 'sh test/stamps.test.sh',
            },
          },
        }),
      },
      script: aScript(implementer),
    });
  const outputs = (run: {
    readonly evidence: readonly { readonly commands: readonly { readonly output: string }[] }[];
  }) => run.evidence.map(({ commands }) => commands[0]?.output ?? '');

  it('is there for later runs, and nothing that an agent does to it reaches another run', async () => {
    const forge = runs('echo forged > node_modules/stamp; echo forged > ~/store; echo 1 > a.txt');
    const fixture = await server({ implementer: [forge] });
    const first = await fixture.until(await fixture.launch('One', TRUSTED), { status: 'completed' });
    const second = await fixture.until(await fixture.launch('Two', TRUSTED), { status: 'completed' });
    const all = [...outputs(first), ...outputs(second)];
    expect(all).toHaveLength(4);
    expect(all[0]).toMatch(/^\d+\n\d+\n$/);
    expect(new Set(all).size).toBe(1);
    expect(await readdir(path.join(fixture.dataFolder, 'dependencies'))).toHaveLength(1);
  });

  it('is made anew, and for that run alone, where an agent changed what the step reads', async () => {
    const changes = {
      turns: writes({ 'package.json': '{ "name": "notes", "version": "2.0.0" }\n' }).turns,
      when: { contains: 'Change' },
    };
    const fixture = await server({ implementer: [changes, writes({ 'a.txt': '1\n' })] });
    const ofTheBase = outputs(await fixture.until(await fixture.launch('Keep', TRUSTED), { status: 'completed' }));
    const changed = outputs(await fixture.until(await fixture.launch('Change', TRUSTED), { status: 'completed' }));
    const again = outputs(await fixture.until(await fixture.launch('Change it too', TRUSTED), { status: 'completed' }));
    const after = outputs(await fixture.until(await fixture.launch('Keep', TRUSTED), { status: 'completed' }));
    expect(new Set(after)).toEqual(new Set(ofTheBase));
    // The same content twice, and still not one run's for the other.
    expect(new Set([ofTheBase[0], changed[0], again[0]]).size).toBe(3);
  });
});

it('what is shared is installed from the base, also when an agent has meanwhile changed what the step runs', async () => {
  const fixture = await aServer({
    files: {
      ...FILES,
      'first.sh': 'sh second.sh\n',
      'second.sh': 'mkdir -p node_modules; echo base > node_modules/by\n',
      'test/by.test.sh': countedTest('cat node_modules/by'),
      '.autonomous/config.json': projectConfig({
        defaultRunConfig: { commands: { setup: 'sh first.sh', test: 'sh test/by.test.sh' } },
      }),
    },
    script: aScript({
      implementer: [
        asks({ question: 'Which?', responseType: 'text' }, [
          tool('write', { path: 'second.sh', content: 'mkdir -p node_modules; echo agent > node_modules/by\n' }),
        ]),
        writes({ 'a.txt': '1\n' }),
      ],
    }),
  });
  const run = await fixture.launch('Add it', TRUSTED);
  await fixture.until(run, { gate: 'clarification' });
  // As if others had needed the room.
  await rm(path.join(fixture.dataFolder, 'dependencies'), { recursive: true });
  await fixture.decide(run, { decision: 'answer', response: 'This.' });
  const { evidence } = await fixture.until(run, { status: 'completed' });
  expect(evidence.map(({ commands }) => commands[0]?.output)).toEqual(['base\n', 'base\n']);
});

describe('F07: a dependency that an implementer adds', () => {
  it('is installed without its scripts and without secrets, and listed with its version at the gate', async () => {
    vi.stubEnv('SERVER_CANARY', 'canary-4711');
    const registry = await aRegistry({
      good: { version: '1.0.0', scripts: {} },
      expresss: {
        version: '0.0.1',
        scripts: { postinstall: 'env > ran.txt; cp ran.txt ../../ran.txt; cp ran.txt ~/ran.txt' },
      },
    });
    const fixture = await aServer({
      files: {
        ...registry.tests,
        'package.json': registry.manifest('good'),
        'package-lock.json': registry.lock('good'),
      },
      env: { EGRESS_ALLOW: `setup=internal:${registry.host}`, GITHUB_TOKEN: 'canary-4711' },
      script: aScript({
        implementer: [
          writes({
            'package.json': registry.manifest('good', 'expresss'),
            'package-lock.json': registry.lock('good', 'expresss'),
          }),
        ],
      }),
    });
    const run = await fixture.launch('Use express', { trustMode: { planning: 'auto', implementation: 'manual' } });
    const { gate, evidence, notices } = await fixture.until(run, { gate: 'implementation' });
    expect(evidence.map(({ passed }) => passed)).toEqual([true, true]);
    const output = evidence[0]?.commands[0]?.output ?? '';
    expect(output).toContain('good 1.0.0 expresss 0.0.1');
    expect(output).toContain('scripts that ran: none');
    expect(JSON.stringify(evidence)).not.toContain('canary');
    const listed = [
      { name: 'expresss', version: '0.0.1', file: 'package-lock.json', hasInstallScript: true, ageDays: 1 },
    ];
    expect(evidence[0]?.newDependencies).toEqual(listed);
    expect(gate?.details).toMatchObject({ newDependencies: listed });
    expect(notices).toEqual(['New dependencies: expresss 0.0.1 (package-lock.json, 1 day old, has an install script)']);
    await fixture.decide(run, { decision: 'approve' });
    await fixture.until(run, { status: 'completed' });
    const report = await fixture.file(run.branch, `.autonomous/runs/${run.id}/validation-report.md`);
    expect(report).toMatch(/## New dependencies[\s\S]*`expresss`[\s\S]*1 day [\s\S]*yes/);
    expect(registry.asked).toContain('/expresss/-/expresss-0.0.1.tgz');
  });

  it('that does not exist pauses the run with what the registry said', async () => {
    const registry = await aRegistry({ good: { version: '1.0.0', scripts: {} } });
    const fixture = await aServer({
      files: {
        ...registry.tests,
        'package.json': registry.manifest('good'),
        'package-lock.json': registry.lock('good'),
      },
      env: { EGRESS_ALLOW: `setup=internal:${registry.host}` },
      script: aScript({
        implementer: [
          writes({
            'package.json': registry.manifest('good', 'made-up'),
            'package-lock.json': registry.lock('good', 'made-up'),
          }),
        ],
      }),
    });
    const { gate } = await fixture.until(await fixture.launch('Use it', TRUSTED), { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'setup_failed', summary: expect.stringContaining('404') });
  });

  it('is looked up with a note on the run where the network refuses that', async () => {
    const registry = await aRegistry({ good: { version: '1.0.0', scripts: {} } });
    vi.stubEnv('npm_config_registry', 'http://registry.test/');
    const fixture = await aServer({
      files: {
        ...FILES,
        'package.json': '{ "name": "notes" }\n',
        '.autonomous/config.json': projectConfig({
          defaultRunConfig: { commands: { setup: 'true', test: 'sh test/app.test.sh' } },
        }),
      },
      env: { EGRESS_ALLOW: 'setup=other.test' },
      script: aScript({ implementer: [writes({ 'package-lock.json': registry.lock('good') })] }),
    });
    const run = await fixture.launch('Use it', TRUSTED);
    const { evidence } = await fixture.approveResult(run);
    expect(evidence[0]?.newDependencies).toMatchObject([{ name: 'good', version: '1.0.0' }]);
    const transcript = await fixture.client.getTranscript(run.id);
    expect(transcript.filter(({ data }) => data?.['egressRefused'] !== undefined)).toMatchObject([
      { activity: 'checkAsIs', data: { egressRefused: { role: 'setup', host: 'registry.test', reason: 'host' } } },
    ]);
  });

  it('is installed too where the project had none before', async () => {
    const registry = await aRegistry({ good: { version: '1.0.0', scripts: {} } });
    const fixture = await aServer({
      files: { ...registry.tests, 'package.json': registry.manifest() },
      env: { EGRESS_ALLOW: `setup=internal:${registry.host}` },
      script: aScript({
        implementer: [
          writes({ 'package.json': registry.manifest('good'), 'package-lock.json': registry.lock('good') }),
        ],
      }),
    });
    const { evidence } = await fixture.approveResult(await fixture.launch('Use it', TRUSTED));
    expect(evidence[0]?.commands[0]?.output).toContain('good 1.0.0');
  });
});

interface Packages {
  readonly [name: string]: { readonly version: string; readonly scripts: Readonly<Record<string, string>> };
}

/** What a registry says of a package, whose version came a day and a half ago. */
function packument(name: string, { version }: NonNullable<Packages[string]>): object {
  const published = new Date(Date.now() - 36 * 60 * 60_000).toISOString();
  return {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { name, version, dist: { tarball: `http://127.0.0.1:9/${name}.tgz` } } },
    time: { created: published, modified: published, [version]: published },
  };
}

/** A registry of npm's kind on this machine, to which the server's npm is pointed. */
async function aRegistry(packages: Packages) {
  const asked: string[] = [];
  const tarballs = new Map<string, Buffer>();
  const folder = await mkdtemp(path.join(tmpdir(), 'registry-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, { version, scripts }] of Object.entries(packages)) {
    const root = path.join(folder, name);
    await mkdir(path.join(root, 'package'), { recursive: true });
    await writeFile(path.join(root, 'package/package.json'), JSON.stringify({ name, version, scripts }));
    execFileSync('tar', ['-czf', path.join(folder, `${name}.tgz`), '-C', root, 'package']);
    tarballs.set(`/${name}/-/${name}-${version}.tgz`, await readFile(path.join(folder, `${name}.tgz`)));
  }
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const known = packages[request.url?.slice(1) ?? ''];
    if (known !== undefined) {
      response.end(JSON.stringify(packument(request.url?.slice(1) ?? '', known)));
      return;
    }
    const tarball = tarballs.get(request.url ?? '');
    if (tarball === undefined) response.writeHead(404).end('{"error":"not found"}');
    else response.end(tarball);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv('npm_config_registry', `http://${host}/`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  });
  const versionOf = (name: string) => packages[name]?.version ?? '1.0.0';
  const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, versionOf(name)]));
  const show = `for (const name of Object.keys(require("./package.json").dependencies)) process.stdout.write(name + " " + require(name + "/package.json").version + " ")`;
  const tells = `{ node -e '${show}' && echo && echo scripts that ran: $(cat ran.txt ~/ran.txt node_modules/*/ran.txt 2> /dev/null || echo none); env; }`;
  return {
    host,
    asked,
    tests: { 'test/packages.test.sh': countedTest(tells) },
    manifest: (...names: readonly string[]): string =>
      `${JSON.stringify({
        name: 'notes',
        dependencies: named(names),
        scripts: { test: 'sh test/packages.test.sh' },
      })}\n`,
    lock: (...names: readonly string[]): string =>
      `${JSON.stringify({
        name: 'notes',
        lockfileVersion: 3,
        requires: true,
        packages: {
          '': { name: 'notes', dependencies: named(names) },
          ...Object.fromEntries(
            names.map((name) => {
              const url = `/${name}/-/${name}-${versionOf(name)}.tgz`;
              const tarball = tarballs.get(url) ?? Buffer.from('');
              return [
                `node_modules/${name}`,
                {
                  version: versionOf(name),
                  resolved: `http://${host}${url}`,
                  integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
                  ...(packages[name]?.scripts['postinstall'] === undefined ? {} : { hasInstallScript: true }),
                },
              ];
            }),
          ),
        },
      })}\n`,
  };
}
