/**
 * Finds the program behind `npm test` and its like that no npm package brings. In doubt there is none: a script that is not
 * understood may run.
 */
import { fieldOf, isRecord, parseJson } from './project-tree.ts';

/** Runtimes and tools that a machine has or lacks. Any other program may come from a dependency under another name. */
const PROGRAMS_OF_MACHINES = new Set(
  'bun deno cargo go python python3 uv poetry make cmake java mvn gradle ruby bundle php composer dotnet zig mix swift docker podman'.split(
    ' ',
  ),
);
const PYTHON_PROGRAMS = new Set(['python', 'uv', 'poetry']);
const MAX_STEPS = 5;
const MAX_SCRIPT = 10_000;

/** How npm, pnpm and Yarn are called, by their names or as `nodeToolCall` does. */
const CALL =
  /^(?:(npm)|pnpm|yarn|\$\(command -v (?:pnpm|yarn) \|\| echo npx --yes [^\s()]+\)|node \.yarn\/releases\/[\w.-]+) +(?:(run|run-script) +)?(\w[\w:.-]*)(?=$|[\s)])/;
const OWN_COMMANDS = new Set([
  'install',
  'i',
  'ci',
  'add',
  'exec',
  'dlx',
  'run',
  'x',
  'node',
  'workspace',
  'workspaces',
]);
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];
const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

export interface ScriptRequest {
  /** For `sh -c` in the project's root. */
  readonly command: string;
  /** The install step that was derived from the manifests; `null`: there is none. */
  readonly setup: string | null;
  readonly read: (path: string) => Promise<string | null>;
}

/** @returns the program that the first command of the script starts; `null` where it may be there after the install step */
export async function programOfScript({ command, setup, read }: ScriptRequest): Promise<string | null> {
  const [, folder, rest = command] = /^\(cd (\w[\w./-]*) && (.*)$/.exec(command) ?? [];
  if (!CALL.test(rest)) return null;
  const manifest = parseJson((await read(folder === undefined ? 'package.json' : `${folder}/package.json`)) ?? '');
  // A package of the workspace may bring what the root does not name.
  if (fieldOf(manifest, 'workspaces') !== undefined || (await read('pnpm-workspace.yaml')) !== null) return null;
  const program = startedBy(rest, fieldOf(manifest, 'scripts'));
  return program === null || mayBeBrought(program, manifest, setup ?? '') ? null : program;
}

function startedBy(command: string, scripts: unknown): string | null {
  let next = command;
  for (let step = 0; step < MAX_STEPS; step++) {
    const [call = '', npm, run, name = ''] = CALL.exec(next) ?? [];
    if (call === '') return programOf(next);
    if (!decides(next.slice(call.length)) || OWN_COMMANDS.has(name)) return null;
    if (npm !== undefined && run === undefined && !['test', 't', 'start'].includes(name)) return null;
    const script = fieldOf(scripts, name === 't' ? 'test' : name);
    if (typeof script !== 'string' || script.length > MAX_SCRIPT) return null;
    next = script.trim();
  }
  return null;
}

/** The first word behind assignments of variables. */
function programOf(script: string): string | null {
  const words = script.split(/\s+/);
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  if (first < 0 || words.slice(0, first).some((word) => word.startsWith('PATH=') || /["'`$\\]/.test(word))) return null;
  const word = words[first] ?? '';
  return PROGRAMS_OF_MACHINES.has(word) && decides(words.slice(first + 1).join(' ')) ? word : null;
}

/** Does a command with these further words fail as a whole when its program is missing? */
function decides(rest: string): boolean {
  const [separator] = /&&|[|;&\n]/.exec(rest) ?? [];
  return (separator === undefined || separator === '&&') && !rest.includes('||');
}

function mayBeBrought(program: string, manifest: unknown, setup: string): boolean {
  const scripts = fieldOf(manifest, 'scripts');
  const installs = [setup, ...INSTALL_SCRIPTS.map((name) => fieldOf(scripts, name))];
  const isNamed = (text: unknown): boolean => typeof text === 'string' && text.split(/[^\w]+/).includes(program);
  if (installs.some(isNamed)) return true;
  if (PYTHON_PROGRAMS.has(program) && /python3|\buv\b|\bpip\b/.test(setup)) return true;
  return DEPENDENCIES.some((section) => {
    const names = fieldOf(manifest, section);
    return isRecord(names) && Object.keys(names).some((name) => !isOfTypes(name) && isNamed(name));
  });
}

/** Packages of types bring no program. */
function isOfTypes(name: string): boolean {
  return name.startsWith('@types/') || name.endsWith('-types');
}
