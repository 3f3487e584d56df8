/** The package manager of a Node project, and how it is called. */
import { fieldOf, parseJson, type ProjectTree } from '../project-tree.ts';

export type NodeTool = 'npm' | 'pnpm' | 'yarn' | 'bun';

export interface NodeToolChoice {
  readonly tool: NodeTool;
  /** `null` where the project has none. */
  readonly lockfile: string | null;
  /** Yarn from version 2 on. */
  readonly isBerry: boolean;
}

const LOCKFILES: readonly (readonly [file: string, tool: NodeTool])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['npm-shrinkwrap.json', 'npm'],
  ['package-lock.json', 'npm'],
];

/** By lockfile, else by `packageManager`, else by the settings that one tool alone has. */
export async function chooseNodeTool(tree: ProjectTree): Promise<NodeToolChoice> {
  const asked = fieldOf(parseJson(await tree.read('package.json')), 'packageManager');
  const [, name, major] = (typeof asked === 'string' ? /^(npm|pnpm|yarn|bun)@(\d+)/.exec(asked) : null) ?? [];
  const [lockfile, locked] = LOCKFILES.find(([file]) => tree.has(file)) ?? [];
  const tool = locked ?? (name as NodeTool | undefined) ?? toolOfSettings(tree);
  const isBerry =
    tool === 'yarn' &&
    (lockfile === 'yarn.lock'
      ? isBerryLock(await tree.read('yarn.lock'))
      : Number(major ?? 0) >= 2 || tree.has('.yarnrc.yml'));
  return { tool, lockfile: lockfile ?? null, isBerry };
}

/**
 * The tool by its name, or where it is not installed by npx, in the version that package.json asks for. The install step brings
 * Bun: what npx starts of it need not be the program (see `bun-setup.ts`).
 */
export async function nodeToolCall(tree: ProjectTree, { tool, isBerry }: NodeToolChoice): Promise<string> {
  if (tool === 'npm' || tool === 'bun') return tool;
  const release =
    tool === 'yarn' ? await tree.find((path) => /^\.yarn\/releases\/[\w.-]+\.cjs$/.test(path)) : undefined;
  if (release !== undefined) return `node ${release}`;
  const version = await askedVersion(tree);
  const name = isBerry ? '@yarnpkg/cli-dist' : tool;
  return `$(command -v ${tool} || echo npx --yes ${name}${version === undefined ? '' : `@${version}`})`;
}

/** Exact version that package.json asks for; `undefined` if it asks for none. */
export async function askedVersion(tree: ProjectTree): Promise<string | undefined> {
  const asked = fieldOf(parseJson(await tree.read('package.json')), 'packageManager');
  return typeof asked === 'string' ? /^(?:pnpm|yarn|bun)@(\d+\.\d+\.\d+)/.exec(asked)?.[1] : undefined;
}

/** Programs of a call by `nodeToolCall`; npx, or for Bun the install step, brings the tool where it is missing. */
export function programsOfCall(call: string, { tool }: NodeToolChoice): readonly string[] {
  if (tool === 'npm') return ['npm'];
  return call.startsWith('node ') ? ['node'] : ['npx', `?${tool}`];
}

export function isBerryLock(lock: string): boolean {
  return /^__metadata:/m.test(lock);
}

function toolOfSettings({ has }: ProjectTree): NodeTool {
  if (has('pnpm-workspace.yaml')) return 'pnpm';
  if (has('.yarnrc.yml') || has('.yarnrc')) return 'yarn';
  return has('bunfig.toml') ? 'bun' : 'npm';
}
