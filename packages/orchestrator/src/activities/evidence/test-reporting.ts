/**
 * Has the test runners of a check report to the server: its reporters are shown to the sandbox read-only, and variables of the
 * environment have Node, Python, Go and Cargo load them. Where a project sets such a variable itself, commands that come first
 * in PATH add to it. The report lies in the check's own HOME.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { RetryableFailure } from '@autonomous/shared';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import type { TestReport } from '../../project-analysis/test-report.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../sandboxes/sandbox.ts';

const FOLDER = fileURLToPath(new URL('../../../reporters', import.meta.url));
const INSIDE = '/opt/autonomous-reporters';

/** Each has a folder of its own: a project may ask which of them there are. */
const SHIMS: readonly string[] = ['node', 'python', 'python3', 'pytest'];

/** A report with more is not read: some 60,000 tests fit. */
const MAX_REPORT_BYTES = 8 * 2 ** 20;
const READ_TIMEOUT_MS = 20_000;

/** Prints the names of all modules that a Python finds outside of the folder that is its argument. */
const LIST_MODULES = `import os, pkgutil, sys
own = os.path.realpath(sys.argv[1]) + os.sep
def outside(folder):
    folder = os.path.realpath(folder) + os.sep
    return not folder.startswith(own) or os.sep + "site-packages" + os.sep in folder
names = {module.name for module in pkgutil.iter_modules([each for each in sys.path if each and outside(each)])}
print("\\n".join(sorted(names | set(getattr(sys, "stdlib_module_names", ())))))`;
const MAX_MODULES_BYTES = 512 * 1024;

export interface Reporting {
  /** For the sandbox that the check runs in. */
  readonly readOnly: SandboxSpec['readOnly'];
  /** The same command, with runners that report. */
  command(command: string): string;
  /**
   * The runners' report, once the command has ended; `null` if none reported or the report exceeds the limit.
   * @throws {RetryableFailure} when it could not be read
   */
  read(sandbox: Sandbox): Promise<TestReport | null>;
  /** Modules that the project's Python finds outside of the project; empty if no Python answers. */
  installed(sandbox: Sandbox): Promise<readonly string[]>;
}

/** Reporting for one command. */
export function startReporting(provider: Pick<SandboxProvider, 'name'>): Reporting {
  // Without a sandbox, commands read the server's own files.
  const inside = provider.name === 'none' ? FOLDER : INSIDE;
  const report = `"$HOME/.test-report-${randomUUID()}"`;
  const variables: readonly string[] = [
    `AUTONOMOUS_TEST_REPORT=${report}`,
    'AUTONOMOUS_TEST_ROOT="$PWD"',
    `NODE_OPTIONS="--require=${inside}/node/preload.cjs"`,
    `PYTHONPATH="${inside}/python"`,
    `GOFLAGS="-exec=${inside}/compiled/exec"`,
    ...['X86_64', 'AARCH64'].map(
      (machine) => `CARGO_TARGET_${machine}_UNKNOWN_LINUX_GNU_RUNNER="${inside}/compiled/exec"`,
    ),
  ];
  const shims = `for tool in ${SHIMS.join(' ')}; do command -v "$tool" > /dev/null 2>&1 && PATH="${inside}/shims/$tool:$PATH"; done; export PATH; unset tool`;
  return {
    readOnly: provider.name === 'none' ? [] : [{ host: FOLDER, inside: INSIDE }],
    command: (command) => `export ${variables.join(' ')}\n${shims}\n${command}`,
    async read(sandbox) {
      const { stdout, stderr, exitCode } = await sandbox.run({
        command: `test -f ${report} && test ! -L ${report} && head -c ${MAX_REPORT_BYTES + 1} ${report}`,
        timeoutMs: READ_TIMEOUT_MS,
        maxOutputBytes: MAX_REPORT_BYTES + 1,
        offline: true,
      });
      if (exitCode !== 0 && exitCode !== 1)
        throw new RetryableFailure(
          `The report of the tests could not be read: ${stderr.trim().split('\n').at(-1) || `exit code ${exitCode}`}`,
          { reason: 'sandbox_unavailable' },
        );
      if (exitCode === 1 || Buffer.byteLength(stdout) > MAX_REPORT_BYTES) return null;
      const answer = await readForeignText('readTestReport', [stdout], { maxMs: READ_TIMEOUT_MS });
      return answer.ok ? answer.value : null;
    },
    async installed(sandbox) {
      const { stdout } = await sandbox.run({
        command: `here="$PWD"; cd /\nfor each in python3 "$here/.venv/bin/python" "$here/venv/bin/python"; do\ncommand -v "$each" > /dev/null && "$each" -c '${LIST_MODULES}' "$here"\ndone`,
        timeoutMs: READ_TIMEOUT_MS,
        maxOutputBytes: MAX_MODULES_BYTES,
        offline: true,
      });
      return [...new Set(stdout.split('\n').filter((name) => /^\w{1,100}$/.test(name)))].sort();
    },
  };
}

let digest: string | undefined;

/** Changes with the reporters: counts of others cannot be compared with theirs. */
export function reportersDigest(): string {
  if (digest === undefined) {
    const hash = createHash('sha256');
    const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const file of files.map((entry) => path.join(entry.parentPath, entry.name)).sort())
      hash.update(readFileSync(file));
    digest = hash.digest('hex');
  }
  return digest;
}
