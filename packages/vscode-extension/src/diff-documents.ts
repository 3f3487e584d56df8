/**
 * A run's result beside its base, in the editor's own diff. Whole files come from the git repository of an open folder where
 * it has both commits; else what the server's diff shows of them.
 */
import { type FileChange, parsePatch, type PatchFile, type PatchSide, type RunDiff, sidesOf } from '@autonomous/shared';
import * as vscode from 'vscode';
import { fileAt, folderWithCommit } from './git-checkout.ts';
import { firstClientOf, type Host, runsOf } from './host.ts';
import { DIFF_SCHEME } from './identifiers.ts';
import { titleOf } from './run-tree.ts';

export type DiffSide = 'before' | 'after';

export interface DiffDocument {
  readonly runId: string;
  readonly path: string;
  readonly side: DiffSide;
}

export interface DiffDocuments extends vscode.Disposable {
  /** All files, or one. @throws {Error} in words for a person where there is none */
  show(runId: string, path?: string): Promise<void>;
  /** The file's own number of a line of the document, both from 1; 0 for what stands for left-out lines. */
  fileLine(document: DiffDocument, line: number): number;
}

interface Result {
  readonly diff: RunDiff;
  readonly files: ReadonlyMap<string, PatchFile & Readonly<Record<DiffSide, PatchSide>>>;
  /** Where both commits are; `null`: nowhere here. */
  readonly folder: string | null;
}

export function createDiffDocuments(host: Host): DiffDocuments {
  /** By `<run>@<commit of the result>`: a newer result is another document. */
  const results = new Map<string, Promise<Result>>();
  /** The newest of each run. */
  const loaded = new Map<string, Result>();

  const load = async (runId: string): Promise<Result> => {
    const diff = await (await firstClientOf(host)).getDiff(runId);
    // Git in a folder that is not trusted could run what its configuration names.
    const folder = vscode.workspace.isTrusted ? await folderOf(diff) : null;
    const result = {
      diff,
      folder,
      files: new Map(parsePatch(diff.patch).map((file) => [file.path, { ...file, ...sidesOf(file) }])),
    };
    loaded.set(runId, result);
    return result;
  };
  const resultOf = (runId: string, key: string): Promise<Result> => {
    const known = results.get(key);
    if (known) return known;
    const loading = load(runId);
    results.set(key, loading);
    // The next look tries again.
    loading.catch(() => results.delete(key));
    return loading;
  };

  const provider = vscode.workspace.registerTextDocumentContentProvider(DIFF_SCHEME, {
    async provideTextDocumentContent(uri) {
      const document = documentOf(uri);
      if (document === null) return '';
      const result = await resultOf(document.runId, uri.query);
      const file = result.files.get(document.path);
      const { from, to } = result.diff;
      const whole =
        result.folder === null
          ? null
          : await fileAt(result.folder, document.side === 'before' ? from : to, document.path);
      if (whole !== null) return whole;
      if (file?.isBinary) return 'This file is not text.\n';
      return file?.[document.side].text ?? '';
    },
  });

  return {
    async show(runId, path) {
      const run = runsOf(host)[runId];
      const commit = run?.headCommit ?? '';
      const { diff } = await resultOf(runId, `${runId}@${commit}`);
      const files = path === undefined ? recordLast(diff.files) : diff.files.filter((file) => file.path === path);
      const [first] = files;
      if (first === undefined)
        throw new Error(path === undefined ? 'The run has changed no files yet.' : `The run did not change ${path}.`);
      const uri = (file: string, side: DiffSide): vscode.Uri => uriOf({ runId, path: file, side }, commit);
      const title = run === undefined ? runId : titleOf(run);
      if (diff.truncated) host.log.warn(`The diff of ${runId} is larger than 1 MB; the rest is not shown.`);
      if (files.length === 1) {
        await vscode.commands.executeCommand(
          'vscode.diff',
          uri(first.path, 'before'),
          uri(first.path, 'after'),
          `${first.path} – ${title}`,
        );
        return;
      }
      await vscode.commands.executeCommand(
        'vscode.changes',
        `Changes – ${title}`,
        files.map((file) => [
          uri(file.path, 'after'),
          file.status === 'added' ? undefined : uri(file.path, 'before'),
          file.status === 'deleted' ? undefined : uri(file.path, 'after'),
        ]),
      );
    },
    fileLine({ path, side, runId }, line) {
      const result = loaded.get(runId);
      if (result === undefined || result.folder !== null) return line;
      return result.files.get(path)?.[side].lineNumbers[line - 1] ?? 0;
    },
    dispose() {
      provider.dispose();
    },
  };
}

/** What the agent changed comes before the run's own record. */
function recordLast(files: readonly FileChange[]): readonly FileChange[] {
  const isRecord = ({ path }: FileChange): number => Number(path.startsWith('.autonomous/'));
  return files.toSorted((one, other) => isRecord(one) - isRecord(other));
}

async function folderOf({ from, to }: RunDiff): Promise<string | null> {
  const folders = (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) =>
    uri.scheme === 'file' ? [uri.fsPath] : [],
  );
  const folder = await folderWithCommit(folders, to);
  return folder !== null && (await folderWithCommit([folder], from)) !== null ? folder : null;
}

function uriOf({ runId, path, side }: DiffDocument, commit: string): vscode.Uri {
  return vscode.Uri.from({ scheme: DIFF_SCHEME, authority: side, path: `/${path}`, query: `${runId}@${commit}` });
}

/** The document of an address; `null` for one of another scheme. */
export function documentOf(uri: vscode.Uri): DiffDocument | null {
  if (uri.scheme !== DIFF_SCHEME) return null;
  const side = uri.authority === 'before' ? 'before' : 'after';
  return { runId: uri.query.slice(0, uri.query.lastIndexOf('@')), path: uri.path.slice(1), side };
}
