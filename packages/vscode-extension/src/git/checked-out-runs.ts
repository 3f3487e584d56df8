/** Runs whose branches are checked out in open folders, as the editor's own git extension tells. */
import type { RunView } from '@autonomous/shared';
import * as vscode from 'vscode';
import { type Host, runsOf } from '../host.ts';

export interface CheckedOutRun {
  readonly run: RunView;
  /** Top folder of the work tree. */
  readonly root: vscode.Uri;
}

export interface CheckedOutRuns extends vscode.Disposable {
  /** Empty without git's extension, and in restricted mode. */
  list(): readonly CheckedOutRun[];
  /** Another branch was checked out, or a repository was opened or closed. */
  readonly onDidChange: vscode.Event<void>;
}

/** What is used of version 1 of the API of `vscode.git`. */
interface GitApi {
  readonly repositories: readonly GitRepository[];
  readonly onDidOpenRepository: vscode.Event<GitRepository>;
  readonly onDidCloseRepository: vscode.Event<GitRepository>;
}
interface GitRepository {
  readonly rootUri: vscode.Uri;
  readonly state: {
    readonly HEAD: { readonly name?: string } | undefined;
    readonly onDidChange: vscode.Event<void>;
  };
}

export function createCheckedOutRuns(host: Host): CheckedOutRuns {
  const changed = new vscode.EventEmitter<void>();
  const following = new Map<GitRepository, vscode.Disposable>();
  const subscriptions: vscode.Disposable[] = [changed];
  let git: GitApi | null = null;
  let isOver = false;

  const follow = (repository: GitRepository): void => {
    let branch = repository.state.HEAD?.name;
    // Its state changes with each saved file.
    const look = (): void => {
      if (repository.state.HEAD?.name === branch) return;
      branch = repository.state.HEAD?.name;
      changed.fire();
    };
    following.get(repository)?.dispose();
    following.set(repository, repository.state.onDidChange(look));
    changed.fire();
  };
  const open = async (): Promise<void> => {
    const opened = await openGit();
    if (isOver || opened === null || git !== null) return;
    git = opened;
    opened.repositories.forEach(follow);
    subscriptions.push(
      opened.onDidOpenRepository(follow),
      opened.onDidCloseRepository((repository) => {
        following.get(repository)?.dispose();
        following.delete(repository);
        changed.fire();
      }),
    );
  };
  const openSaying = (): void =>
    void open().catch((error: unknown) =>
      host.log.warn(`Which branches are checked out cannot be had: ${String(error)}`),
    );
  subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(openSaying));
  openSaying();

  return {
    onDidChange: changed.event,
    list() {
      const runs = Object.values(runsOf(host));
      return (git?.repositories ?? []).flatMap(({ rootUri: root, state: { HEAD } }) => {
        if (HEAD?.name === undefined) return [];
        const run = runs.find((each) => branchOf(each) === HEAD.name);
        return run === undefined ? [] : [{ run, root }];
      });
    },
    dispose() {
      isOver = true;
      for (const subscription of [...subscriptions, ...following.values()]) subscription.dispose();
    },
  };
}

async function openGit(): Promise<GitApi | null> {
  // Its own types are not a package of the editor.
  const extension = vscode.extensions.getExtension<{ getAPI(version: 1): GitApi }>('vscode.git');
  if (extension === undefined || !vscode.workspace.isTrusted) return null;
  return (await extension.activate()).getAPI(1);
}

function branchOf({ published, branch }: RunView): string | null {
  const name = published?.branch ?? branch;
  return name === '' ? null : name;
}
