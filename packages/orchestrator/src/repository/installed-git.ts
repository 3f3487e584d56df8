/** The git of this machine: whether it can be started, and is new enough. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ProcessUnavailable } from '../processes/small-process.ts';
import { launchGit } from './git/git-launcher.ts';

export type InstalledGit =
  | { readonly ok: true; readonly detail: string }
  | { readonly ok: false; readonly detail: string; readonly way: string };

const OLDEST = [2, 38] as const;
const TIMEOUT_MS = 3_000;
const INSTALL = `install git ${OLDEST.join('.')} or newer: sudo apt-get install git`;
/** An answer is kept so long where git is there. */
const KEPT_MS = 60_000;

let kept: { readonly at: number; readonly git: InstalledGit } | undefined;

export async function findInstalledGit(): Promise<InstalledGit> {
  if (kept !== undefined && kept.git.ok && performance.now() - kept.at < KEPT_MS) return kept.git;
  kept = { at: performance.now(), git: await askGit() };
  return kept.git;
}

/** @returns the fault and the way out in one sentence; `null` where git is there */
export async function whyNoGit(): Promise<string | null> {
  const git = await findInstalledGit();
  return git.ok ? null : `${git.detail}; ${git.way}`;
}

async function askGit(): Promise<InstalledGit> {
  const { PATH = '' } = process.env;
  const file = PATH.split(delimiter)
    .map((folder) => join(folder, 'git'))
    .find((each) => existsSync(each));
  if (file === undefined) return { ok: false, detail: 'git is not installed: no folder in PATH has it', way: INSTALL };
  try {
    const order = { args: ['--version'], cwd: '/', env: { PATH }, input: '', timeoutMs: TIMEOUT_MS };
    const { exitCode, stdout, stderr, ended } = await launchGit(order);
    const detail = Buffer.from(stdout).toString('utf8').trim();
    if (ended !== undefined || exitCode !== 0) {
      const how = ended === undefined ? `ends with exit code ${exitCode}: ${stderr.trim()}` : 'gives no answer';
      return { ok: false, detail: `${file} --version ${how}`, way: INSTALL };
    }
    const [, major = 0, minor = 0] = (/(?<!\d)(\d+)\.(\d+)/.exec(detail) ?? []).map(Number);
    const isNew = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
    return isNew ? { ok: true, detail } : { ok: false, detail, way: INSTALL };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const way =
      error instanceof ProcessUnavailable
        ? 'raise the limits of open files, processes and memory'
        : `let the server's user execute it, or ${INSTALL}`;
    return { ok: false, detail: `${file} cannot be started (${why})`, way };
  }
}
