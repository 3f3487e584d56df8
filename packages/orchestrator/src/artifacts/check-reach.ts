/**
 * What a check command reaches besides tests and their configuration: the scripts that it names, what these name in turn, and
 * what runner configurations load. Found in the text of the base commit, whose words decide what the command means.
 *
 * The search does not go into product code: a script of the project's tools is followed, the code that it tries is not. A
 * file that a command names outside the folders of tools may be either: a person is told when the run changed it.
 */
import { isTestConfiguration, isTestPath } from './project-commands.ts';
import { hasRunnerSections } from './runner-sections.ts';

export interface Reach {
  /** Put back for a check with the base commit's tests. */
  readonly restored: ReadonlySet<string>;
  /** Changed by the run, named by the command, and left as they are. */
  readonly doubtful: readonly string[];
}

export interface ReachRequest {
  /** The test command. */
  readonly command: string;
  readonly basePaths: readonly string[];
  /** Paths that differ between base and result, deleted and added ones included. */
  readonly changed: readonly string[];
  /** Texts of files of the base; those that are too large or no text are left out. */
  readonly read: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>;
}

/** Folders of tools, by the names that projects give them. */
const TOOL_FOLDERS =
  /^(?:[\w.-]+\/){0,2}(scripts?|tools?|bin|ci|[.]ci|build|hack|dev|make|etc|config|[.]config|misc|util|utils)\//;
const MANIFESTS = /(^|\/)(package[.]json|deno[.]jsonc?|composer[.]json)$/;
/** Where a runner says what it loads: its configuration, beside much else. */
const LOADS =
  /setup|plugin|require|import|reporter|environment|transform|runner|resolver|preset|loader|(^|\s)-p\b|--config/i;
/** Files that are configuration of a build with tests in it, and that are not taken apart. */
const BUILD_FILES =
  /(^|\/)(build[.]gradle([.]kts)?|settings[.]gradle([.]kts)?|pom[.]xml|build[.]rs|mix[.]exs|build[.]sbt|CMakeLists[.]txt|meson[.]build|BUILD([.]bazel)?|setup[.]py)$/;

const MAX_FILES = 300;
const MAX_DEPTH = 5;
const MAX_LINE = 2_000;

export async function reachOfCheck({ command, basePaths, changed, read }: ReachRequest): Promise<Reach> {
  const known = new Set([...basePaths, ...changed]);
  const inBase = new Set(basePaths);
  const isChanged = new Set(changed);
  const restored = new Set<string>();
  const doubtful = new Set<string>(changed.filter((path) => BUILD_FILES.test(path)));
  const seen = new Set<string>();

  const take = (
    named: readonly string[],
    by: { readonly isLoaded: boolean; readonly isCommand: boolean },
  ): string[] => {
    const further: string[] = [];
    for (const path of named) {
      if (isTestPath(path) || isTestConfiguration(path) || hasRunnerSections(path)) further.push(path);
      else if (by.isLoaded || TOOL_FOLDERS.test(path)) {
        restored.add(path);
        further.push(path);
      } else if (by.isCommand && isChanged.has(path) && inBase.has(path)) doubtful.add(path);
    }
    return further;
  };

  const roots = basePaths.filter(
    (path) => MANIFESTS.test(path) || isTestConfiguration(path) || hasRunnerSections(path),
  );
  let next = [...take(namedIn(command, '', known), { isLoaded: false, isCommand: true }), ...roots].slice(0, MAX_FILES);
  for (let depth = 0; depth < MAX_DEPTH && next.length > 0 && seen.size < MAX_FILES; depth += 1) {
    const fresh = [...new Set(next)]
      .filter((path) => !seen.has(path) && inBase.has(path))
      .slice(0, MAX_FILES - seen.size);
    for (const path of fresh) seen.add(path);
    next = [];
    for (const [path, text] of await read(fresh))
      next.push(...take(namedByFile(path, text, known), { isLoaded: isLoadedBy(path), isCommand: isCommands(path) }));
  }
  return { restored, doubtful: [...doubtful].filter((path) => !restored.has(path)).sort() };

  function namedByFile(path: string, text: string, all: ReadonlySet<string>): string[] {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
    // Tests name the product that they try; what they use of their own are tests by their folder.
    if (isTestPath(path) && !isTestConfiguration(path) && !/[.](sh|bash|mk)$/.test(path)) return [];
    const lines = MANIFESTS.test(path) ? scriptsOf(text) : text.split('\n');
    const isTool = TOOL_FOLDERS.test(path) || isCommands(path);
    const worth = MANIFESTS.test(path) || isTool ? lines : lines.filter((line) => LOADS.test(line.slice(0, MAX_LINE)));
    return worth.flatMap((line) => namedIn(line.slice(0, MAX_LINE), folder, all));
  }
}

/** A runner's configuration loads what it names on the lines that are read of it. */
function isLoadedBy(path: string): boolean {
  return !TOOL_FOLDERS.test(path) && isTestConfiguration(path) && !isCommands(path);
}

/** A file of commands: it runs what it names. Code of tools names the product that it tries. */
function isCommands(path: string): boolean {
  return (
    MANIFESTS.test(path) ||
    /(^|\/)((GNUm|M|m)akefile([.]\w+)?|[.]?[Jj]ustfile|Rakefile)$|[.](mk|mak|sh|bash|rake)$/.test(path)
  );
}

/** The commands of a manifest, and nothing else of it. */
function scriptsOf(text: string): string[] {
  try {
    const { scripts, tasks } = JSON.parse(text) as { scripts?: unknown; tasks?: unknown };
    return [scripts, tasks].flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each).filter((value) => typeof value === 'string') : [],
    );
  } catch {
    return [];
  }
}

/** Files that words of a line name: as they stand, beside the file that holds the line, or as modules of Python. */
function namedIn(line: string, folder: string, known: ReadonlySet<string>): string[] {
  const words = line.split(/[\s"'`=;|&(){}<>,[\]$]+/).filter((word) => word.length > 1 && word.length < 300);
  return words.flatMap((word) => candidates(word, folder).filter((path) => known.has(path)));
}

const ENDINGS = [
  '',
  '.js',
  '.mjs',
  '.cjs',
  '.ts',
  '.sh',
  '.py',
  '/index.js',
  '/index.ts',
  '/__init__.py',
  '/__main__.py',
];

function candidates(word: string, folder: string): string[] {
  const plain = normal(word);
  const beside = folder === '' ? [] : [normal(`${folder}/${word}`)];
  const module = /^[\w.]+$/.test(word) && !word.startsWith('.') ? [word.replaceAll('.', '/')] : [];
  return [plain, ...beside, ...module]
    .filter((path) => path !== '')
    .flatMap((path) => ENDINGS.map((ending) => `${path}${ending}`));
}

function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}
