/**
 * Finds the files that a check command reaches besides tests and their configuration: the scripts that it names, the
 * files that these name in turn, and the files that runner configurations load. Reads the base commit, whose text
 * decides what the command means.
 *
 * The search does not enter product code: it follows a script of the project's tools, but not the code that the script
 * tests. A file that a command names outside the folders of tools may be either: a person is told when the run changed
 * it.
 */
import nodePath from 'node:path';
import { filterInSlices } from '../foreign-text/foreign-text-slices.ts';
import { isAmong } from '../path-rules/sorted-paths.ts';
import { isTestConfiguration, isTestPath } from './project-commands.ts';
import { folderOf, linesOf, normalPath } from './named-paths.ts';
import { hasRunnerSections } from './runner-sections.ts';

export interface Reach {
  /** Files to restore for a check with the base commit's tests. */
  readonly restored: ReadonlySet<string>;
  /** Files that the run changed and the command names. They stay as in the result. */
  readonly doubtful: readonly string[];
  /** Patterns of paths in the command and in the scripts that it comes to. */
  readonly globs: readonly string[];
}

export interface ReachRequest {
  /** The test command. */
  readonly command: string;
  /** Sorted. */
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
/** Lines that have another file read as part of the commands, where it is there: of makefiles, shells and for environments. */
const INCLUDES = /^\s*[-s]?include\s|(^|[;&|({@]|\bthen|\bdo)\s*(source|[.])\s+["'$]?[\w./]|env-?file|dotenv/i;
/** Says that a tool looks for `.env` by itself. */
const LOADS_ENV = /dotenv|env-?file|\bbun\b/i;
/** Configuration of frameworks that their part for a runner loads into its process, where the runner's names it. */
const FRAMEWORKS = /(?:^|\/)(next|nuxt|svelte|astro|vue|craco|webpack|rspack|rsbuild|metro|remix)[.]config[.]\w+$/;
/** Files that are configuration of a build with tests in it, and that are not taken apart. */
const BUILD_FILES =
  /(^|\/)(build[.]gradle([.]kts)?|settings[.]gradle([.]kts)?|pom[.]xml|build[.]rs|mix[.]exs|build[.]sbt|CMakeLists[.]txt|meson[.]build|BUILD([.]bazel)?|setup[.]py)$/;

const MAX_FILES = 300;
const MAX_DEPTH = 5;
const MAX_LINE = 2_000;

export async function reachOfCheck({ command, basePaths, changed, read }: ReachRequest): Promise<Reach> {
  const inBase = (path: string): boolean => isAmong(basePaths, path);
  const isChanged = new Set(changed);
  const isKnown = (path: string): boolean => isChanged.has(path) || inBase(path);
  const restored = new Set<string>();
  const doubtful = new Set<string>(changed.filter((path) => BUILD_FILES.test(path)));
  const seen = new Set<string>();
  const globs = new Set(globsIn(command));

  const take = (
    named: readonly string[],
    by: {
      readonly isLoaded: boolean;
      readonly isCommand: boolean;
      readonly isIncluded?: boolean;
      readonly isManifest?: boolean;
    },
  ): string[] => {
    const further: string[] = [];
    for (const path of named) {
      if (isTestPath(path) || isTestConfiguration(path) || hasRunnerSections(path)) further.push(path);
      else if (by.isLoaded || TOOL_FOLDERS.test(path)) {
        restored.add(path);
        further.push(path);
      } else if (by.isIncluded === true && !inBase(path)) restored.add(path);
      else if (by.isCommand && isChanged.has(path) && (inBase(path) || by.isManifest !== true)) doubtful.add(path);
    }
    return further;
  };

  const roots = await filterInSlices(
    basePaths,
    (path) => MANIFESTS.test(path) || isTestConfiguration(path) || hasRunnerSections(path),
  );
  let wanted: ReadonlySet<string> = new Set();
  let next = [...take(namedIn(command, '', isKnown), { isLoaded: false, isCommand: true }), ...roots].slice(
    0,
    MAX_FILES,
  );
  for (let depth = 0; depth < MAX_DEPTH && next.length > 0 && seen.size < MAX_FILES; depth += 1) {
    const fresh = [...new Set(next)].filter((path) => !seen.has(path) && inBase(path)).slice(0, MAX_FILES - seen.size);
    for (const path of fresh) seen.add(path);
    next = [];
    const texts = await read(fresh);
    if (depth === 0) wanted = wantedScripts(command, texts);
    for (const [path, text] of texts) {
      for (const line of readLines(path, text)) {
        const isManifest = MANIFESTS.test(path);
        const isCommand = isCommands(path) && (line.script === null || wanted.has(line.script));
        if (isCommand && line.script !== null) for (const glob of globsIn(line.text)) globs.add(glob);
        const isIncluded = (isCommands(path) || TOOL_FOLDERS.test(path)) && INCLUDES.test(line.text);
        const named = [...namedIn(line.text, folderOf(path), isKnown), ...(isIncluded ? addedLike(line.text) : [])];
        next.push(...take(named, { isLoaded: isLoadedBy(path), isCommand, isIncluded, isManifest }));
      }
      takeByHabit(path, text);
    }
  }
  return { restored, doubtful: [...doubtful].filter((path) => !restored.has(path)).sort(), globs: [...globs] };

  /** Files that no line names and that are read all the same. */
  function takeByHabit(path: string, text: string): void {
    const isOfRunner = isTestConfiguration(path) || hasRunnerSections(path);
    if ((isCommands(path) || isOfRunner) && LOADS_ENV.test(text))
      for (const each of changed) if (!inBase(each) && /(^|\/)[.]env([.]\w+)*$/.test(each)) restored.add(each);
    if (!isLoadedBy(path)) return;
    for (const each of changed) {
      const framework = FRAMEWORKS.exec(each)?.[1];
      if (framework !== undefined && text.toLowerCase().includes(framework)) doubtful.add(each);
    }
  }

  /** New files that the patterns of an including line stand for. */
  function addedLike(line: string): string[] {
    const patterns = globsIn(line);
    return changed.filter((each) => !inBase(each) && patterns.some((pattern) => matchesGlob(each, pattern)));
  }

  function readLines(path: string, text: string): Line[] {
    // Tests name the product that they try; what they use of their own are tests by their folder.
    if (isTestPath(path) && !isTestConfiguration(path) && !/[.](sh|bash|mk)$/.test(path)) return [];
    if (MANIFESTS.test(path)) return scriptsOf(text);
    const lines = linesOf(text).map((line) => ({ script: null, text: line.slice(0, MAX_LINE) }));
    const isTool = TOOL_FOLDERS.test(path) || isCommands(path);
    return isTool ? lines : lines.filter((line) => LOADS.test(line.text));
  }
}

/** Does a path fit a pattern, from the project's root or from any folder? */
export function matchesGlob(file: string, glob: string): boolean {
  const pattern = glob.replace(/^(?:[.]\/)+/, '');
  return nodePath.posix.matchesGlob(file, pattern) || nodePath.posix.matchesGlob(file, `**/${pattern}`);
}

function globsIn(line: string): readonly string[] {
  return line
    .split(/[\s"'`=;|&()<>$]+/)
    .filter(
      (word) => /[*?]|\{[^{},]*,[^{}]*\}/.test(word) && /\w/.test(word) && word.length < 300 && !word.startsWith('!'),
    );
}

interface Line {
  /** Name of the script of a manifest; `null` for a line of any other file. */
  readonly script: string | null;
  readonly text: string;
}

/** Scripts of manifests that the command comes to: by their names among its words, and among those of what it comes to. */
function wantedScripts(command: string, texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const scripts = [...texts].flatMap(([file, text]) => (MANIFESTS.test(file) ? scriptsOf(text) : []));
  const names = new Set(scripts.map(({ script }) => script ?? ''));
  const wanted = new Set<string>();
  const others = [...texts].filter(([file]) => isCommands(file) && !MANIFESTS.test(file)).map(([, text]) => text);
  let said = [command, ...others];
  while (said.length > 0) {
    const words = said.flatMap((text) => text.split(WORDS));
    const fresh = [...names].filter(
      (name) => !wanted.has(name) && words.some((word) => isCalled(word, name) || isCalled(word, plainName(name))),
    );
    for (const name of fresh) wanted.add(name);
    said = scripts.filter(({ script }) => script !== null && fresh.includes(script)).map(({ text }) => text);
  }
  return wanted.size === 0 ? names : wanted;
}

/** `test:*` stands for all scripts of that beginning, and `npm t` for `test`. */
function isCalled(word: string, name: string): boolean {
  const star = word.indexOf('*');
  return word === name || (star > 0 && name.startsWith(word.slice(0, star))) || (name === 'test' && word === 't');
}

/** npm runs `pretest` and `posttest` around `test`. */
function plainName(name: string): string {
  return name.replace(/^(?:pre|post)(?=\w)/, '');
}

/** A runner's configuration loads what it names on the lines that are read of it. */
function isLoadedBy(path: string): boolean {
  return !TOOL_FOLDERS.test(path) && isTestConfiguration(path) && !isCommands(path);
}

/** A file of commands: it runs what it names. Code of tools names the product that it tries. */
function isCommands(path: string): boolean {
  return (
    MANIFESTS.test(path) ||
    /(^|\/)((gnu)?makefile([.]\w+)?|[.]?justfile|rakefile([.]rb)?)$|[.](mk|mak|sh|bash|rake)$/i.test(path)
  );
}

/** The commands of a manifest by their names, and nothing else of it. */
function scriptsOf(text: string): Line[] {
  try {
    const { scripts, tasks } = JSON.parse(text) as { scripts?: unknown; tasks?: unknown };
    return [scripts, tasks].flatMap((each) =>
      typeof each === 'object' && each !== null
        ? Object.entries(each).flatMap(([script, value]) =>
            typeof value === 'string' ? [{ script, text: value.slice(0, MAX_LINE) }] : [],
          )
        : [],
    );
  } catch {
    return [];
  }
}

/** Files that words of a line name: as they stand, beside the file that holds the line, or as modules of Python. */
function namedIn(line: string, folder: string, isKnown: (path: string) => boolean): string[] {
  const words = line.split(WORDS).filter((word) => word.length > 1 && word.length < 300);
  return words.flatMap((word) => candidates(word, folder).filter(isKnown));
}

const WORDS = /[\s"'`=;|&(){}<>,[\]$]+/;

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
  const plain = normalPath(word);
  const beside = folder === '' ? [] : [normalPath(`${folder}/${word}`)];
  const module = /^[\w.]+$/.test(word) && !word.startsWith('.') ? [word.replaceAll('.', '/')] : [];
  return [plain, ...beside, ...module]
    .filter((path) => path !== '')
    .flatMap((path) => ENDINGS.map((ending) => `${path}${ending}`));
}
