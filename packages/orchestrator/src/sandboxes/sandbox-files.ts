/**
 * Files inside a sandbox, reached by commands alone and never through the host: what a symlink in there points at is looked
 * up in there. POSIX sh, find and grep, so that it works with every provider.
 */
import { InvalidRequest } from '@autonomous/shared';
import type { CommandResult, Sandbox } from './sandbox.ts';

const TIMEOUT_MS = 30_000;
const LONGEST_PATH = 1024;
/** Largest file that is read, in bytes. Far more than a model can process at once. */
const LARGEST_READ_BYTES = 2 * 1024 * 1024;
const LARGEST_LISTING_BYTES = 1024 * 1024;
const LONGEST_MATCH_BYTES = 1000;

/** Folders that hold what was installed or generated, and git's own files. */
const SKIPPED_FOLDERS = ['.git', 'node_modules', '.venv', '__pycache__'];

/** Where files that people gave with an answer are shown; nothing can be written there. */
const UPLOADS_FOLDER = '/uploads';

/** Exit codes of our own scripts, above those that their commands use. */
const NO_SUCH_FILE = 64;
const NOT_A_FILE = 65;
const TOO_LARGE = 66;
const BAD_PATTERN = 67;

export interface SandboxMatch {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** The line, cut after about 1,000 bytes. */
  readonly text: string;
}

/**
 * Text of a file; `null` when there is none.
 * @param path relative to the sandbox's `/workspace`, or below `/uploads`
 * @throws {InvalidRequest} when the path cannot be taken, is a folder, or holds more than 2 MB
 */
export async function readSandboxFile(sandbox: Sandbox, path: string): Promise<string | null> {
  const file = readablePath(path);
  const result = await runScript(
    sandbox,
    `[ -e ${file} ] || exit ${NO_SUCH_FILE}
     [ -f ${file} ] || exit ${NOT_A_FILE}
     [ "$(wc -c < ${file})" -le ${LARGEST_READ_BYTES} ] || exit ${TOO_LARGE}
     cat ${file}`,
    { maxOutputBytes: LARGEST_READ_BYTES },
  );
  switch (result.exitCode) {
    case 0:
      return result.stdout;
    case NO_SUCH_FILE:
      return null;
    case NOT_A_FILE:
      throw new InvalidRequest(`"${path}" is a folder; name a file in it`);
    case TOO_LARGE:
      throw new InvalidRequest(
        `"${path}" has more than ${LARGEST_READ_BYTES} bytes; read a part of it with a command such as head or sed`,
      );
    default:
      throw unexpected('read', path, result);
  }
}

/**
 * Writes a file and the folders above it; an existing file keeps its mode.
 * @param path relative to the sandbox's `/workspace`
 * @throws {InvalidRequest} when the path cannot be taken or cannot be written to
 */
export async function writeSandboxFile(sandbox: Sandbox, path: string, content: string): Promise<void> {
  const file = quotedPath(path);
  const folder = quotedPath(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.');
  const result = await runScript(
    sandbox,
    `[ ! -d ${file} ] || exit ${NOT_A_FILE}\nmkdir -p ${folder} && cat > ${file}`,
    {
      stdin: content,
    },
  );
  if (result.exitCode === NOT_A_FILE) throw new InvalidRequest(`"${path}" is a folder; name a file in it`);
  if (result.exitCode !== 0) throw unexpected('write', path, result);
}

/**
 * Paths of all regular files, sorted, without what is installed or generated (`node_modules`, `.git` and their like).
 * @param folder relative to the sandbox's `/workspace`, or `/uploads`; all of the former when absent
 * @returns `truncated` when there are more than fit in 1 MB
 * @throws {InvalidRequest} when the folder cannot be taken or does not exist
 */
export async function listSandboxFiles(
  sandbox: Sandbox,
  folder = '.',
): Promise<{ readonly paths: readonly string[]; readonly truncated: boolean }> {
  const start = readablePath(folder);
  const result = await runScript(
    sandbox,
    `[ -d ${start} ] || exit ${NO_SUCH_FILE}
     find ${start} ${skipped()} -type f -print0 | head -c ${LARGEST_LISTING_BYTES}`,
    { maxOutputBytes: LARGEST_LISTING_BYTES },
  );
  if (result.exitCode === NO_SUCH_FILE) throw new InvalidRequest(`There is no folder "${folder}"`);
  if (result.exitCode !== 0) throw unexpected('list', folder, result);
  const truncated = Buffer.byteLength(result.stdout) >= LARGEST_LISTING_BYTES;
  // The piece after the last NUL is empty, or a name that was cut.
  const paths = result.stdout.split('\0').slice(0, -1).map(withoutDot);
  return { paths: paths.sort(), truncated };
}

/**
 * Lines that match an extended regular expression, in the order in which find comes upon the files. Binary files are left out.
 * @param options.folder a folder or file relative to the sandbox's `/workspace`, or below `/uploads`; all of the former when absent
 * @param options.limit at most this many matches (default 200)
 * @throws {InvalidRequest} when the pattern or the folder cannot be taken
 */
export async function searchSandbox(
  sandbox: Sandbox,
  pattern: string,
  options: { readonly folder?: string; readonly limit?: number } = {},
): Promise<{ readonly matches: readonly SandboxMatch[]; readonly truncated: boolean }> {
  if (pattern === '' || pattern.includes('\0'))
    throw new InvalidRequest('A search pattern must not be empty and must not hold NUL');
  const folder = options.folder ?? '.';
  const limit = options.limit ?? 200;
  const start = readablePath(folder);
  const result = await runScript(
    sandbox,
    `[ -e ${start} ] || exit ${NO_SUCH_FILE}
     grep -E -e ${quoted(pattern)} /dev/null
     [ $? -le 1 ] || exit ${BAD_PATTERN}
     find ${start} ${skipped()} -type f -exec grep -HnIE --null -e ${quoted(pattern)} {} + | cut -b 1-${LONGEST_MATCH_BYTES} | head -n ${limit + 1} | head -c ${LARGEST_LISTING_BYTES}`,
    { maxOutputBytes: LARGEST_LISTING_BYTES },
  );
  if (result.exitCode === NO_SUCH_FILE) throw new InvalidRequest(`There is no file or folder "${folder}"`);
  if (result.exitCode === BAD_PATTERN) {
    throw new InvalidRequest(`"${pattern}" is not an extended regular expression: ${result.stderr.trim()}`);
  }
  if (result.exitCode !== 0) throw unexpected('search', folder, result);
  const matches = matchesIn(result.stdout);
  const truncated = matches.length > limit || Buffer.byteLength(result.stdout) >= LARGEST_LISTING_BYTES;
  return { matches: matches.slice(0, limit), truncated };
}

/** Reads `<path>NUL<line>:<text>`, one a line; a path may hold line ends itself. */
function matchesIn(found: string): readonly SandboxMatch[] {
  const matches: SandboxMatch[] = [];
  let at = 0;
  for (let nul = found.indexOf('\0'); nul !== -1; nul = found.indexOf('\0', at)) {
    const lineEnd = found.indexOf('\n', nul);
    const end = lineEnd === -1 ? found.length : lineEnd;
    const [, line, text = ''] = /^(\d+):(.*)$/s.exec(found.slice(nul + 1, end)) ?? [];
    if (line !== undefined) matches.push({ path: withoutDot(found.slice(at, nul)), line: Number(line), text });
    at = end + 1;
  }
  return matches;
}

/** A path to be read: in the project, or among the uploads. */
function readablePath(path: string): string {
  const upload =
    path === UPLOADS_FOLDER
      ? '.'
      : path.startsWith(`${UPLOADS_FOLDER}/`)
        ? path.slice(UPLOADS_FOLDER.length + 1)
        : null;
  return upload !== null && faultOf(upload) === null ? quoted(path) : quotedPath(path);
}

/**
 * The path as one word of a shell command, relative to `/workspace`; it cannot leave that folder except by a symlink inside.
 * @throws {InvalidRequest} naming what is wrong with it
 */
function quotedPath(path: string): string {
  const wrong = faultOf(path);
  if (wrong !== null) {
    throw new InvalidRequest(
      `The path ${JSON.stringify(path.slice(0, 200))} ${wrong}; use one relative to /workspace, such as src/main.ts`,
    );
  }
  // `./` keeps a leading dash from being taken for an option.
  return quoted(path === '.' ? '.' : `./${withoutDot(path)}`);
}

function faultOf(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > LONGEST_PATH) return `is longer than ${LONGEST_PATH} bytes`;
  if (path.includes('\0')) return 'contains a NUL character';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute';
  if (path === '~' || path.startsWith('~/')) return 'starts at a home folder';
  if (path.includes('\\')) return 'contains a backslash';
  if (/(^|\/)(\.|%2e){2}(\/|$)/i.test(path)) return 'leads out of the folder';
  return null;
}

/** The text as one word of a shell command, whatever it holds. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function skipped(): string {
  return `\\( -type d \\( ${SKIPPED_FOLDERS.map((name) => `-name ${quoted(name)}`).join(' -o ')} \\) -prune \\) -o`;
}

function withoutDot(path: string): string {
  return path.replace(/^(\.\/)+/, '');
}

function runScript(
  sandbox: Sandbox,
  command: string,
  options: { readonly stdin?: string; readonly maxOutputBytes?: number },
): Promise<CommandResult> {
  return sandbox.run({ command, timeoutMs: TIMEOUT_MS, offline: true, ...options });
}

function unexpected(verb: string, path: string, result: CommandResult): InvalidRequest {
  const said = result.stderr.trim().split('\n').at(-1) || `exit code ${result.exitCode}`;
  return new InvalidRequest(`Cannot ${verb} "${path}" in the sandbox: ${said}`);
}
