/** Chooses the Node that runs the installed server. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const ANSWERS_WITHIN_MS = 10_000;

export interface NodeRuntime {
  readonly program: string;
  /** Further variables of the server's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Electron in place of Node: the sandboxes of agents then have no Node of the server's to lend. */
  readonly isElectron: boolean;
}

export interface EditorRuntime {
  readonly execPath: string;
  readonly versions: { readonly node: string; readonly electron?: string | undefined };
}

/**
 * The editor's own Node where it is new enough, else that of the PATH. In the desktop editor, which is Electron, the one of the
 * PATH comes first: sandboxes lend the server's Node to the project's tests, and Electron cannot be lent.
 * @param range what the package accepts; `null` accepts all
 * @param pathNode the program of the PATH
 * @throws {Error} when neither is new enough
 */
export async function chooseRuntime(
  range: string | null,
  editor: EditorRuntime,
  pathNode = 'node',
): Promise<NodeRuntime> {
  const isElectron = editor.versions.electron !== undefined;
  const own: NodeRuntime = { program: editor.execPath, env: { ELECTRON_RUN_AS_NODE: '1' }, isElectron };
  const ownFits = isNewEnough(editor.versions.node, range);
  if (ownFits && !isElectron) return own;
  const found = await versionOf(pathNode);
  if (found !== null && isNewEnough(found, range)) return { program: pathNode, env: {}, isElectron: false };
  if (ownFits) return own;
  throw new Error(
    `The server needs Node ${range}; the editor has ${editor.versions.node} and the PATH has ${found ?? 'none'}. Install a newer Node from https://nodejs.org, or update the editor.`,
  );
}

/** Does a version fit a range of the form `>=22`, `>=22.5.1` or `>=22.12 <25`? Another form accepts every version. */
export function isNewEnough(version: string, range: string | null): boolean {
  const oldest = /^\s*>=\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(range ?? '');
  if (oldest === null) return true;
  const wanted = oldest.slice(1).map((part) => Number(part ?? 0));
  const has = version.split(/[.-]/, 3).map(Number);
  const differing = wanted.findIndex((part, index) => part !== has[index]);
  return differing === -1 || (has[differing] ?? 0) > (wanted[differing] ?? 0);
}

async function versionOf(program: string): Promise<string | null> {
  try {
    const { stdout } = await execute(program, ['-p', 'process.versions.node'], { timeout: ANSWERS_WITHIN_MS });
    return /^\d+\.\d+\.\d+/.exec(stdout.trim())?.[0] ?? null;
  } catch {
    return null;
  }
}
