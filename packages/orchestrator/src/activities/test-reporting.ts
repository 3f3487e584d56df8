/**
 * Has the test runners of a check report to the server: its reporters are shown to the sandbox read-only, and variables of the
 * environment have Node, Python, Go and Cargo load them. The report lies in the check's own HOME.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTestReport, type TestReport } from '../artifacts/test-report.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../sandboxes/sandbox.ts';

const FOLDER = fileURLToPath(new URL('../../reporters', import.meta.url));
const INSIDE = '/opt/autonomous-reporters';

/** A report with more is not read: some 60,000 tests fit. */
const MAX_REPORT_BYTES = 8 * 2 ** 20;
const READ_TIMEOUT_MS = 20_000;

export interface Reporting {
  /** For the sandbox that the check runs in. */
  readonly readOnly: SandboxSpec['readOnly'];
  /** The same command, with runners that report. */
  command(command: string): string;
  /** What they reported, once the command has ended; `null` where none did, or more than is read. */
  read(sandbox: Sandbox): Promise<TestReport | null>;
}

/** Reporting for one command. */
export function startReporting(provider: Pick<SandboxProvider, 'name'>): Reporting {
  // Without a sandbox there is nothing to show files in: commands see the server's own.
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
  return {
    readOnly: provider.name === 'none' ? [] : [{ host: FOLDER, inside: INSIDE }],
    command: (command) => `export ${variables.join(' ')}\n${command}`,
    async read(sandbox) {
      const { stdout, exitCode } = await sandbox.run({
        command: `test -f ${report} && test ! -L ${report} && head -c ${MAX_REPORT_BYTES + 1} ${report}`,
        timeoutMs: READ_TIMEOUT_MS,
        maxOutputBytes: MAX_REPORT_BYTES + 1,
        offline: true,
      });
      if (exitCode !== 0 || Buffer.byteLength(stdout) > MAX_REPORT_BYTES) return null;
      return readTestReport(stdout);
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
