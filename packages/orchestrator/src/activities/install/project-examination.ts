/**
 * Examines what a project needs before anything is paid: manifests that can be read, programs and versions in the sandbox, tests,
 * an install step and its network. `doctor PROJECT` and the preparation of a run share it.
 */
import { CHECKED_MANIFESTS } from '../../project-analysis/installation/manifest-faults.ts';
import { isAmong } from '../../path-rules/sorted-paths.ts';
import { findProjectCommands } from '../../project-analysis/project-commands.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { programOfScript } from '../../project-analysis/script-program.ts';
import { WHERE_PROGRAMS } from '../../project-analysis/installation/setup-failure.ts';
import {
  isWanted,
  VERSION_FILES,
  wantedVersions,
  type WantedVersion,
} from '../../project-analysis/installation/wanted-versions.ts';
import type { ProjectCommand } from '../types.ts';

export interface ExaminationRequest {
  /** All files of the tree. */
  /** All files of the tree, sorted. */
  readonly paths: readonly string[];
  readonly read: (path: string) => Promise<string | null>;
  /** Commands that the configuration names; `null`: there is none. Absent ones are looked for. */
  readonly commands: { readonly setup?: string | null | undefined; readonly test?: string | null | undefined };
  /** Whether the install step may reach any host. */
  readonly hasSetupNetwork: boolean;
  /** Runs a command in a sandbox without network and gives its output; `null` if no sandbox answers. */
  readonly ask: (command: string) => Promise<string | null>;
  readonly signal?: AbortSignal | undefined;
}

export interface Examination {
  readonly setup: ProjectCommand | null;
  /** `null` where none was found. An empty command says that the project has none. */
  readonly test: ProjectCommand | null;
  readonly findings: readonly Finding[];
}

export interface Finding {
  /** Subject in a word or two, such as `cargo`. */
  readonly about: string;
  /** `stops`: no run can pass its checks before it is fixed. */
  readonly weight: 'stops' | 'warns';
  /** The problem and the way out, in whole sentences. */
  readonly text: string;
}

/** Source of a command that the configuration names. */
export const CONFIGURED = 'configuration';

export async function examineProject(request: ExaminationRequest): Promise<Examination> {
  const { paths, read, commands, hasSetupNetwork } = request;
  const found = await findProjectCommands(paths, read);
  const setup = commands.setup === undefined ? found.setup : commandOf(commands.setup);
  const test =
    commands.test === undefined ? found.test : (commandOf(commands.test) ?? { command: '', source: CONFIGURED });
  const isFound = { setup: commands.setup === undefined, test: commands.test === undefined };
  const texts = await textsOf(request);
  const needed = {
    setup: isFound.setup ? found.programs.setup : [],
    test: [
      ...(isFound.test ? found.programs.test : firstProgramOf(setup, test)),
      // An install step that the configuration names may bring any program.
      ...(isFound.setup || setup === null ? await scriptProgramOf(setup, test, read) : []),
    ],
  };
  const wanted = wantedVersions(texts);
  const inside = await programsInside(request, needed, wanted, setup === null && isPytest(test));
  const unreadable = isFound.setup || isFound.test ? await faultsOf(texts, request.signal) : [];
  const missing = inside === null ? [] : missingPrograms(needed, inside, { setup, test, hasSetupNetwork });
  return {
    setup,
    test,
    findings: [
      ...unreadable,
      ...missing,
      ...(inside === null ? [] : otherVersions(wanted, inside)),
      ...(setup !== null && isFound.setup && !hasSetupNetwork ? [noNetwork(setup)] : []),
      ...(test === null ? [NO_TESTS] : []),
      ...(isFound.setup && isFound.test ? found.notices : []).map((text) => warning('commands', text)),
    ],
  };
}

/** The findings that stop a run, as one message. `null` where there is none. */
export function whatStops({ findings }: Pick<Examination, 'findings'>): string | null {
  const stopping = findings.filter(({ weight }) => weight === 'stops');
  if (stopping.length === 0) return null;
  const others = findings.filter(({ weight }) => weight === 'warns');
  return [
    'The project is not ready for a run. No model was called yet. Fix the following and retry:',
    ...stopping.map(({ text }) => `- ${text}`),
    ...(others.length === 0 ? [] : ['Besides:', ...others.map(({ text }) => `- ${text}`)]),
  ].join('\n');
}

const NO_TESTS: Finding = {
  about: 'tests',
  weight: 'warns',
  text: 'No tests were found: the run asks for a command that checks the project. Name it in .autonomous/config.json (defaultRunConfig.commands.test).',
};

function noNetwork({ command, source }: ProjectCommand): Finding {
  return warning(
    'network',
    `The install step \`${command}\` (from ${source}) has no network on this server. Unset ALLOW_SETUP_NETWORK=false to let it reach the package registries.`,
  );
}

function warning(about: string, text: string): Finding {
  return { about, weight: 'warns', text };
}

function commandOf(command: string | null): ProjectCommand | null {
  return command === null ? null : { command, source: CONFIGURED };
}

/** The program of a configured command that is sure to be looked for in PATH, unless an install step may bring it. */
function firstProgramOf(setup: ProjectCommand | null, test: ProjectCommand | null): readonly string[] {
  const [word = ''] = (test?.command ?? '').trim().split(/\s+/, 1);
  return setup === null && /^[\w][\w.+-]*$/.test(word) ? [word] : [];
}

async function scriptProgramOf(
  setup: ProjectCommand | null,
  test: ProjectCommand | null,
  read: ExaminationRequest['read'],
): Promise<readonly string[]> {
  if (test === null) return [];
  const program = await programOfScript({ command: test.command, setup: setup?.command ?? null, read });
  return program === null ? [] : [program];
}

function isPytest(test: ProjectCommand | null): boolean {
  return test?.command === 'python3 -m pytest';
}

async function textsOf({ paths, read }: ExaminationRequest): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const path of new Set([...CHECKED_MANIFESTS, ...VERSION_FILES])) {
    const text = isAmong(paths, path) ? await read(path) : null;
    if (text !== null && text.length <= MAX_MANIFEST) texts.set(path, text);
  }
  return texts;
}

const MAX_MANIFEST = 1_000_000;

async function faultsOf(
  texts: ReadonlyMap<string, string>,
  signal: AbortSignal | undefined,
): Promise<readonly Finding[]> {
  const manifests = new Map([...texts].filter(([path]) => CHECKED_MANIFESTS.includes(path)));
  if (manifests.size === 0) return [];
  const answer = await readForeignText('manifestFaults', [manifests], { signal });
  if (!answer.ok) return [];
  return answer.value.map(({ path, line, message }) => ({
    about: path,
    weight: 'stops',
    text: `${path} cannot be read${line === null ? '' : ` (line ${line})`}: ${message}. Fix it on the base branch and push.`,
  }));
}

/** Version output of each program; `null` for one that is missing or does not start. */
type Programs = ReadonlyMap<string, string | null>;

interface Needed {
  readonly setup: readonly string[];
  readonly test: readonly string[];
}

const VERSION_OF: Readonly<Record<string, string>> = {
  node: 'node --version',
  python3: 'python3 --version',
  go: 'GOTOOLCHAIN=local go version',
  cargo: 'cargo --version',
};
const MARK = '=== ';

async function programsInside(
  { ask }: ExaminationRequest,
  { setup, test }: Needed,
  wanted: readonly WantedVersion[],
  needsPytest: boolean,
): Promise<Programs | null> {
  const named = [...setup, ...test].map((name) => name.replace(/^\?/, ''));
  const all = new Set([...named, ...wanted.map(({ program }) => program)]);
  const each = [...all].map((name) => {
    const version = VERSION_OF[name] ?? 'true';
    return `command -v ${name} > /dev/null 2>&1 && said=$(${version} 2>&1) && echo "${MARK}${name} yes $said" || echo "${MARK}${name} no"`;
  });
  if (needsPytest)
    each.push(`python3 -c 'import pytest' > /dev/null 2>&1 && echo "${MARK}pytest yes" || echo "${MARK}pytest no"`);
  if (each.length === 0) return new Map();
  const output = await ask(each.join('\n'));
  if (output === null) return null;
  const programs = new Map<string, string | null>();
  for (const line of output.split('\n')) {
    const [, name = '', answer, said = ''] = /^=== (\S+) (yes|no) ?(.*)$/.exec(line) ?? [];
    if (name !== '') programs.set(name, answer === 'yes' ? said : null);
  }
  return programs;
}

interface Commands {
  readonly setup: ProjectCommand | null;
  readonly test: ProjectCommand | null;
  readonly hasSetupNetwork: boolean;
}

function missingPrograms(
  needed: Needed,
  inside: Programs,
  { setup, test, hasSetupNetwork }: Commands,
): readonly Finding[] {
  const neededBy = (name: string): string => {
    const byTest = needed.test.includes(name) || name === 'pytest';
    const command = byTest ? test : setup;
    return `${byTest ? 'the tests' : 'the install step'} (\`${command?.command ?? ''}\`, from ${command?.source ?? ''})`;
  };
  // npx would have to fetch the program.
  const names = [...needed.setup, ...needed.test].flatMap((name) =>
    name.startsWith('?') ? (hasSetupNetwork ? [] : [name.slice(1)]) : [name],
  );
  const pytest = inside.get('pytest') === null ? ['pytest'] : [];
  return [...new Set([...names, ...pytest])]
    .filter((name) => inside.get(name) === null)
    .map((name) => ({
      about: name,
      weight: 'stops',
      text: `The program ${name} is not in the sandbox, and ${neededBy(name)} needs it. ${INSTALL[name] ?? 'Install it on the server’s machine'}; ${WHERE_PROGRAMS}.`,
    }));
}

/** How to get the usual ones. */
const INSTALL: Readonly<Record<string, string>> = {
  bun: 'Install it (https://bun.sh), or name the package bun among the devDependencies',
  deno: 'Install it (https://deno.com), or name the package deno among the devDependencies',
  uv: 'Install it (https://docs.astral.sh/uv)',
  cargo: 'Install it with rustup (https://rustup.rs)',
  go: 'Install it (https://go.dev/dl, or sudo apt-get install golang-go)',
  make: 'Install it (sudo apt-get install make)',
  python3: 'Install it (sudo apt-get install python3 python3-venv python3-pip)',
  pytest: 'Name it in the project’s requirements, or install it (sudo apt-get install python3-pytest)',
  bundle: 'Install it (sudo apt-get install ruby-bundler)',
  composer: 'Install it (sudo apt-get install composer)',
};

function otherVersions(wanted: readonly WantedVersion[], inside: Programs): readonly Finding[] {
  return wanted.flatMap(({ program, wanted: asked, source }) => {
    const said = inside.get(program);
    if (said === undefined || said === null || isWanted(said, asked)) return [];
    const version = said.split(/[^\d.]/).find((part) => /^\d+\.\d/.test(part)) ?? said;
    return [
      warning(
        program,
        `${source} asks for ${program} ${asked}, and the sandbox has ${version}. SANDBOX_PROGRAMS on the server names the folder of another version.`,
      ),
    ];
  });
}
