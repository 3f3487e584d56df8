/**
 * The commands by which a project's own files say that work is verified: its tests and its lint. Besides the manifests that
 * `project-commands.ts` reads, the texts for contributors count, where they name a command as code. Pure.
 */
import { linesOf } from './named-paths.ts';
import { isAmong } from '../path-rules/sorted-paths.ts';
import { findProjectCommands, type ProjectCommand, type ReadFile } from './project-commands.ts';

export interface CheckCommands {
  /** Runs the tests; `null` where none were found. */
  readonly test: ProjectCommand | null;
  /** Looks for faults without running the product; `null` where none was found. */
  readonly lint: ProjectCommand | null;
}

/** Texts that are read, in this order; the first that names a command wins. */
const TEXTS = ['CONTRIBUTING.md', 'CONTRIBUTING', 'docs/CONTRIBUTING.md', '.github/CONTRIBUTING.md', 'README.md'];
const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];
/** Characters of a file that are read. */
const MAX_READ = 400_000;

/** Words that begin a command which a text may name. Anything else in code style is no command to be run unasked. */
const RUNNERS =
  /^(?:npm|pnpm|yarn|bun|npx|make|just|task|cargo|go|python3?|pytest|tox|poetry|uv|bundle|rake|composer|mvn|gradle|\.\/gradlew|\.\/mvnw|deno|ruff|eslint|golangci-lint) /;

/** @param paths all files of the tree, sorted */
export async function findCheckCommands(paths: readonly string[], read: ReadFile): Promise<CheckCommands> {
  const has = (path: string): boolean => isAmong(paths, path);
  const text = async (path: string): Promise<string> =>
    has(path) ? ((await read(path)) ?? '').slice(0, MAX_READ) : '';
  const { test } = await findProjectCommands(paths, read);
  const lint = (await lintOfNode(text, has)) ?? (await lintOfMake(text, has));
  return {
    test: test ?? (await documented(text, has, isTestCommand)),
    lint: lint ?? (await documented(text, has, isLintCommand)),
  };
}

type Read = (path: string) => Promise<string>;
type Has = (path: string) => boolean;

async function lintOfNode(read: Read, has: Has): Promise<ProjectCommand | null> {
  const source = 'package.json';
  let parsed: unknown;
  try {
    parsed = JSON.parse((await read(source)).replace(/^\ufeff/, ''));
  } catch {
    return null;
  }
  const { scripts } = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as { readonly scripts?: unknown };
  const lint =
    typeof scripts === 'object' && scripts !== null && Object.hasOwn(scripts, 'lint')
      ? (scripts as Readonly<Record<string, unknown>>)['lint']
      : undefined;
  if (typeof lint !== 'string' || lint.trim() === '') return null;
  const tool = has('pnpm-lock.yaml')
    ? 'pnpm'
    : has('yarn.lock')
      ? 'yarn'
      : has('bun.lock') || has('bun.lockb')
        ? 'bun'
        : 'npm';
  return { command: `${tool} run lint`, source };
}

async function lintOfMake(read: Read, has: Has): Promise<ProjectCommand | null> {
  const source = MAKEFILES.find((file) => has(file));
  if (source === undefined) return null;
  return linesOf(await read(source)).some(isLintRule) ? { command: 'make lint', source } : null;
}

/** A rule may name several targets; `lint := x` is a variable. */
function isLintRule(line: string): boolean {
  const colon = line.indexOf(':');
  const targets = line.slice(0, Math.max(colon, 0));
  if (/^\s|[#=]/.test(targets) || /^:?[:=]/.test(line.slice(colon + 1))) return false;
  return targets.split(/[ \t]/).includes('lint');
}

async function documented(
  read: Read,
  has: Has,
  isWanted: (command: string) => boolean,
): Promise<ProjectCommand | null> {
  for (const source of TEXTS.filter((file) => has(file))) {
    const command = commandsIn(await read(source)).find(isWanted);
    if (command !== undefined) return { command, source };
  }
  return null;
}

/** Commands in fenced blocks, one a line, and between backticks. */
function commandsIn(text: string): string[] {
  let isFenced = false;
  return linesOf(text).flatMap((line) => {
    if (/^ {0,3}(?:```|~~~)/.test(line)) {
      isFenced = !isFenced;
      return [];
    }
    const found = isFenced ? [line] : line.split('`').filter((_, index) => index % 2 === 1);
    return found.map((each) => each.trim().replace(/^\$ /, '').trim()).filter(isPlainCommand);
  });
}

/** One command without a place to fill in. */
function isPlainCommand(command: string): boolean {
  return command.length <= 200 && RUNNERS.test(`${command} `) && !/[<>|;&$`{}[\]\\]|\.\.\./.test(command);
}

function isTestCommand(command: string): boolean {
  return (
    /^(?:pytest|tox)(?: |$)/.test(command) ||
    (command.split(/[\s:]+/).some((word) => /^(?:test|tests|pytest|check)$/.test(word)) && !isLintCommand(command))
  );
}

function isLintCommand(command: string): boolean {
  return command.split(/[\s:]+/).some((word) => /^(?:lint|eslint|ruff|clippy|golangci-lint|flake8)$/.test(word));
}
