/** Compiles LaTeX in a sandbox without network, from a folder that has nothing but the given files. */
import { constants, existsSync } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readLatexLog, type LatexError, MISSING_FORMAT } from '../documents/latex/latex-log.ts';
import { scrubbedEnd } from '../secrets/secrets.ts';
import type { ActivityContext } from '../core/activity.ts';
import type { Sandbox, SandboxLimits } from '../sandboxes/sandbox.ts';
import { removeTree } from './install/dependency-cache.ts';
import type { ActivityTools } from './tools.ts';
import { runFolder } from './work-folders.ts';

export interface LatexFile {
  /** Name without folders: letters, digits and `._-`. */
  readonly name: string;
  readonly content: string | Uint8Array;
}

export interface LatexRequest {
  readonly runId: string;
  /** Name of the work folder within the run. */
  readonly folder: string;
  /** Name of the file to compile, ending in `.tex`. */
  readonly main: string;
  readonly files: readonly LatexFile[];
  /** Default 300,000. A document that never ends is usually stopped earlier, by its processor time. */
  readonly timeoutMs?: number;
}

export type LatexOutcome =
  | { readonly kind: 'compiled'; readonly pdf: Buffer; readonly pages: number; readonly log: string }
  /** `errors` is never empty. */
  | { readonly kind: 'failed'; readonly errors: readonly LatexError[]; readonly log: string }
  /** TeX cannot be used where commands run. `missing` names programs, or files of LaTeX packages that reports load. */
  | { readonly kind: 'absent'; readonly missing: readonly string[] };

type Tools = Pick<ActivityTools, 'sandboxes' | 'limits' | 'workFolder' | 'scrub'>;
type Context = Pick<ActivityContext, 'key' | 'signal' | 'progress'>;

const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const DEFAULT_TIMEOUT_MS = 300_000;
const LARGEST_PDF_BYTES = 50 * 1024 * 1024;
const LARGEST_LOG_BYTES = 4 * 1024 * 1024;
/** Of a log, characters from its end. */
const KEPT_LOG = 20_000;
const MAX_LIMITS: Required<SandboxLimits> = {
  memoryBytes: 1024 ** 3,
  fileBytes: 64 * 1024 ** 2,
  processes: 64,
  cpuSeconds: 60,
  diskBytes: 256 * 1024 ** 2,
};

/** Where Debian keeps the formats and font maps that TeX makes of what is installed. */
const GENERATED_TEXMF = '/var/lib/texmf';
const PROGRAMS = ['latexmk', 'pdflatex', 'bibtex'];
/** Files of packages that the templates load, and the bibliography's style. */
const TEX_FILES = [
  'lmodern.sty',
  'amssymb.sty',
  'microtype.sty',
  'booktabs.sty',
  'enumitem.sty',
  'natbib.sty',
  'xurl.sty',
  'hyperref.sty',
  'plainnat.bst',
];
const LOOK = [
  `for name in ${PROGRAMS.join(' ')}; do command -v "$name" > /dev/null || echo "$name"; done`,
  `if command -v kpsewhich > /dev/null; then kpsewhich ${TEX_FILES.join(' ')} | sed 's|.*/|found |'; fi`,
].join('\n');

/** @throws {NeedsHuman | RetryableFailure} when the sandbox cannot be opened or is lost; a document that fails is an outcome */
export async function compileLatex(tools: Tools, context: Context, request: LatexRequest): Promise<LatexOutcome> {
  const folder = path.join(runFolder(tools, request.runId), request.folder);
  await writeFiles(folder, request);
  try {
    const sandbox = await tools.sandboxes.open({
      key: context.key,
      folder,
      readOnly: mountsOf(tools),
      network: 'none',
      limits: lowered(tools.limits),
      signal: context.signal,
    });
    try {
      const missing = await missingIn(sandbox, context);
      if (missing.length > 0) return { kind: 'absent', missing };
      return await compileIn(sandbox, folder, tools, context, request);
    } finally {
      await sandbox.dispose();
    }
  } finally {
    await removeTree(folder);
  }
}

async function writeFiles(folder: string, { main, files }: LatexRequest): Promise<void> {
  const names = files.map(({ name }) => name);
  const bad = [main, ...names].find((name) => !FILE_NAME.test(name));
  if (bad !== undefined) throw new Error(`'${bad}' is no name of a file to compile: use letters, digits and '._-'`);
  if (!main.endsWith('.tex') || !names.includes(main))
    throw new Error(`'${main}' is none of the files, or no .tex file`);
  await removeTree(folder);
  await mkdir(folder, { recursive: true });
  for (const { name, content } of files) await writeFile(path.join(folder, name), content, { flag: 'wx' });
}

/** Only a sandbox of this machine has this machine's TeX, and only bubblewrap hides a part of it. */
function mountsOf({ sandboxes }: Tools): readonly { readonly host: string; readonly inside: string }[] {
  const isHidden = sandboxes.name === 'bubblewrap' && existsSync(GENERATED_TEXMF);
  return isHidden ? [{ host: GENERATED_TEXMF, inside: GENERATED_TEXMF }] : [];
}

function lowered(limits: SandboxLimits): SandboxLimits {
  return {
    memoryBytes: Math.min(limits.memoryBytes, MAX_LIMITS.memoryBytes),
    fileBytes: Math.min(limits.fileBytes, MAX_LIMITS.fileBytes),
    processes: Math.min(limits.processes, MAX_LIMITS.processes),
    cpuSeconds: Math.min(limits.cpuSeconds, MAX_LIMITS.cpuSeconds),
    diskBytes: Math.min(limits.diskBytes ?? Infinity, MAX_LIMITS.diskBytes),
  };
}

async function missingIn(sandbox: Sandbox, { signal }: Context): Promise<readonly string[]> {
  const { stdout } = await sandbox.run({ command: LOOK, timeoutMs: 30_000, signal });
  signal.throwIfAborted();
  const lines = stdout.split('\n');
  const programs = PROGRAMS.filter((name) => lines.includes(name));
  return programs.length > 0 ? programs : TEX_FILES.filter((name) => !lines.includes(`found ${name}`));
}

async function compileIn(
  sandbox: Sandbox,
  folder: string,
  tools: Tools,
  { signal, progress }: Context,
  { main, timeoutMs = DEFAULT_TIMEOUT_MS }: LatexRequest,
): Promise<LatexOutcome> {
  // No file of settings is read, no program is started, and nothing outside of the folder is read or written, whatever TeX's own
  // configuration allows. Lines of the log are not broken.
  const settings = 'openin_any=p openout_any=p max_print_line=10000 error_line=254 half_error_line=238';
  const options = '-norc -pdf -no-shell-escape -interaction=nonstopmode -halt-on-error -file-line-error';
  const command = `${settings} latexmk ${options} ${main}`;
  progress({ kind: 'command', text: `$ latexmk -pdf ${main}` });
  const result = await sandbox.run({ command, timeoutMs, signal });
  signal.throwIfAborted();
  await sandbox.sync(signal);
  const stem = path.join(folder, main.slice(0, -'.tex'.length));
  const texLog = (await readRegular(`${stem}.log`, LARGEST_LOG_BYTES)).content.toString('utf8');
  const bibLog = (await readRegular(`${stem}.blg`, LARGEST_LOG_BYTES)).content.toString('utf8');
  const whole = `${result.stdout}\n${result.stderr}\n${texLog}\n${bibLog}`;
  const log = scrubbedEnd(whole, KEPT_LOG, (text) => tools.scrub(text));
  if (whole.includes(MISSING_FORMAT)) return { kind: 'absent', missing: ['pdflatex.fmt'] };
  const read = readLatexLog(main, texLog, bibLog);
  const failed = (message: string): LatexOutcome => ({
    kind: 'failed',
    errors: [...read.errors, { file: main, line: null, message }],
    log,
  });
  if (result.timedOut) return failed(`The compilation did not end within ${timeoutMs / 1_000} seconds.`);
  if (result.exitCode === null)
    return failed(`The compilation was ended: ${result.stderr.trim().split('\n').at(-1) ?? 'a limit was reached'}`);
  if (read.errors.length > 0) return { kind: 'failed', errors: read.errors, log };
  const pdf = await readRegular(`${stem}.pdf`, LARGEST_PDF_BYTES);
  if (pdf.isTooLarge) return failed(`The PDF has more than ${LARGEST_PDF_BYTES / 1024 / 1024} MB.`);
  if (result.exitCode !== 0 || !pdf.content.subarray(0, 5).equals(Buffer.from('%PDF-')))
    return failed(`latexmk ended with exit code ${result.exitCode} and wrote no PDF that can be used.`);
  return { kind: 'compiled', pdf: pdf.content, pages: read.pages, log };
}

/** A regular file of the folder; empty where it is none, a link or too large. The compilation may have left anything there. */
async function readRegular(
  file: string,
  largest: number,
): Promise<{ readonly content: Buffer; readonly isTooLarge: boolean }> {
  const nothing = { content: Buffer.alloc(0), isTooLarge: false };
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch(() => null);
  if (handle === null) return nothing;
  try {
    const found = await handle.stat();
    if (!found.isFile()) return nothing;
    if (found.size > largest) return { ...nothing, isTooLarge: true };
    return { content: await handle.readFile(), isTooLarge: false };
  } finally {
    await handle.close();
  }
}
