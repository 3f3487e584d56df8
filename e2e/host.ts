/**
 * Runs the tests of `host-suite` with Mocha inside the extension host, on the packaged extension: in code-server, or with
 * `E2E_VSCODE=desktop` in VS Code as it is downloaded, and in code-server where it cannot be: with `--no-skips` that is a
 * failure. `E2E_VSCODE=/path/to/code` names one that is there.
 *
 * Usage: npm run e2e:host [-- --no-skips]
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EXTENSION, findChromium, installCodeServer, installTools } from './harness/install.ts';

const SUITE = path.join(import.meta.dirname, 'host-suite');
const BUILT = path.join(SUITE, 'dist');
const DOWNLOAD_TIMEOUT_MS = 30_000;
const TEST_TIMEOUT_MS = 30_000;

const skipsFail = process.argv.includes('--no-skips');
const chosen = process.env['E2E_VSCODE'] ?? 'code-server';
const executables = installTools();
const editor = await findEditor();
if (editor !== undefined) {
  process.exitCode = await runSuite(editor).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  });
}

interface Editor {
  readonly executable: string;
  readonly wantsScreen: boolean;
}

/** @returns undefined where it cannot be had, which has been said */
async function findEditor(): Promise<Editor | undefined> {
  if (chosen === 'code-server') return codeServer();
  if (chosen !== 'desktop') return { executable: chosen, wantsScreen: true };
  const { downloadAndUnzipVSCode, SilentReporter } = await import('@vscode/test-electron');
  try {
    const executable = await downloadAndUnzipVSCode({
      version: 'stable',
      timeout: DOWNLOAD_TIMEOUT_MS,
      cachePath: path.join(BUILT, 'vscode'),
      // Its own lines tell of each try; ours says what came of them.
      reporter: new SilentReporter(),
    });
    return { executable, wantsScreen: true };
  } catch (error) {
    const reason = `VS Code cannot be downloaded here (${lastWords(error)})`;
    if (skipsFail) return skip(reason);
    process.stdout.write(`${reason}: the suite runs in code-server instead.\n`);
    return codeServer();
  }
}

function codeServer(): Editor | undefined {
  if (findChromium() === undefined) return skip('there is no Chromium here (Debian: apt-get install chromium)');
  installCodeServer();
  return { executable: path.join(SUITE, 'vscode-shim.ts'), wantsScreen: false };
}

/** What lies below everything that wrapped it. */
function lastWords(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return lastWords(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message.split('\n', 1)[0] || error.name : lastWords(error.cause);
}

function skip(reason: string): undefined {
  process.stdout.write(`skipped: ${reason}\n0 passed, 0 failed, 1 skipped (in-host suite)\n`);
  process.exitCode = skipsFail ? 1 : 0;
  return undefined;
}

/** @returns the exit code */
async function runSuite({ executable, wantsScreen }: Editor): Promise<number> {
  const { packageExtension } = await import('../release/package-extension.ts');
  const { unpackInto } = await import('../release/unpack-vsix.ts');
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-e2e-host-'));
  try {
    await unpackInto((await packageExtension((line) => void process.stdout.write(`${line}\n`))).vsix, folder);
    const extension = path.join(folder, 'extension');
    // Of our own package.
    const { publisher, name } = JSON.parse(await readFile(path.join(extension, 'package.json'), 'utf8')) as Record<
      string,
      string
    >;
    const opened = path.join(folder, 'opened');
    mkdirSync(opened);
    const config = {
      tests: [
        {
          files: bundleSuite(),
          extensionDevelopmentPath: extension,
          workspaceFolder: opened,
          mocha: { ui: 'bdd', timeout: TEST_TIMEOUT_MS },
          env: { E2E_EXTENSION: `${publisher}.${name}` },
          useInstallation: { fromPath: executable },
          launchArgs: [
            `--extensions-dir=${path.join(folder, 'extensions')}`,
            `--user-data-dir=${path.join(folder, 'profile')}`,
          ],
        },
      ],
    };
    const file = path.join(BUILT, 'vscode-test.json');
    writeFileSync(file, JSON.stringify(config));
    const [command, ...args] = [
      ...(wantsScreen ? screen() : []),
      path.join(executables, 'vscode-test'),
      '--config',
      file,
    ];
    return spawnSync(command ?? '', args, { cwd: SUITE, stdio: 'inherit' }).status ?? 1;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** As the extension host loads it: one CommonJS file for each of ours. */
function bundleSuite(): string[] {
  for (const old of globSync(path.join(BUILT, '*.js'))) rmSync(old);
  const rolldown = path.join(EXTENSION, 'node_modules', '.bin', 'rolldown');
  const sources = globSync('*.host.ts', { cwd: SUITE });
  const args = [
    ...sources,
    '--dir',
    BUILT,
    '--format',
    'cjs',
    '--platform',
    'node',
    '--external',
    'vscode',
    '--log-level',
    'warn',
  ];
  const { status, stderr } = spawnSync(rolldown, args, { cwd: SUITE, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The suite does not build:\n${stderr}`);
  // The package that they lie in is one of modules.
  writeFileSync(path.join(BUILT, 'package.json'), '{ "type": "commonjs" }');
  return globSync('*.host.js', { cwd: BUILT }).map((file) => path.join(BUILT, file));
}

/** A desktop's VS Code wants a screen; on Linux without one there may be xvfb. */
function screen(): string[] {
  const needed = process.platform === 'linux' && !process.env['DISPLAY'];
  return needed && spawnSync('xvfb-run', ['--help']).status === 0 ? ['xvfb-run', '--auto-servernum'] : [];
}
