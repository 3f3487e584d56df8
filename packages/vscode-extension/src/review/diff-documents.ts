/**
 * A run's result beside its base, in the editor's own diff. Whole files come from the git repository of an open folder where
 * it has both commits; else what the server's diff shows of them.
 */
import { type FileChange, type RunDiff, showHidden } from '@autonomous/shared';
import {
  changeNotes,
  leftOutText,
  type PatchSide,
  type ReviewedFile,
  reviewDiff,
  sidesOf,
} from '@autonomous/shared/presentation';
import * as vscode from 'vscode';
import { fileAt, folderWithCommit } from '../git/git-checkout.ts';
import { firstClientOf, type Host, runsOf } from '../host.ts';
import { DIFF_SCHEME } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';
import { titleOf } from '../run-tree-view.ts';

/** Files that are named in a warning. */
const WARNED = 3;

export type DiffSide = 'before' | 'after';

export interface DiffDocument {
  readonly runId: string;
  readonly path: string;
  readonly side: DiffSide;
  /** Of the result that is shown. */
  readonly commit: string;
}

export interface DiffDocuments extends vscode.Disposable {
  /** All files, or one. @throws {Error} in words for a person where there is none */
  show(runId: string, path?: string): Promise<void>;
  /** Runs whose newest result was loaded: comments on them have a place. */
  loadedRuns(): Iterable<string>;
  /** Where a line of a changed file is in the document that shows it, from 0; its beginning where the line is not shown. `null` for a file that the result does not change. */
  placeOf(runId: string, path: string, fileLine: number): { readonly uri: vscode.Uri; readonly line: number } | null;
  /** A result was loaded. */
  readonly onDidLoad: vscode.Event<string>;
  /** The file's own number of a line of the document, both from 1; 0 for what stands for left-out lines. */
  fileLine(document: DiffDocument, line: number): number;
}

interface Result {
  /** As the addresses of its documents name it. */
  readonly commit: string;
  readonly diff: RunDiff;
  readonly files: ReadonlyMap<string, ReviewedFile & Readonly<Record<DiffSide, PatchSide>>>;
  /** Where git's list and the patch differ. */
  readonly faults: readonly string[];
  /** Where both commits are; `null`: nowhere here. */
  readonly folder: string | null;
}

export function createDiffDocuments(host: Host): DiffDocuments {
  /** By `<run>@<commit of the result>`: a newer result is another document. */
  const results = new Map<string, Promise<Result>>();
  /** The newest of each run. */
  const loaded = new Map<string, Result>();

  const onDidLoad = new vscode.EventEmitter<string>();

  const load = async (runId: string, commit: string): Promise<Result> => {
    const diff = await (await firstClientOf(host)).getDiff(runId);
    // Git in a folder that is not trusted could run what its configuration names.
    const folder = vscode.workspace.isTrusted ? await folderOf(diff) : null;
    const review = reviewDiff(diff);
    const result = {
      commit,
      diff,
      folder,
      faults: review.faults,
      files: new Map(review.files.map((file) => [file.path, { ...file, ...sidesOf(file.patch) }])),
    };
    loaded.set(runId, result);
    onDidLoad.fire(runId);
    return result;
  };
  const resultOf = (runId: string, key: string): Promise<Result> => {
    const known = results.get(key);
    if (known) return known;
    const loading = load(runId, key.slice(runId.length + 1));
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
      // Hidden characters become visible text: the editor has settings that hide them, and ends lines at a lone U+000D.
      if (whole !== null && file?.binary === undefined) return showHidden(whole);
      return file === undefined ? 'The server sent nothing of this file.\n' : sideText(file, document.side);
    },
  });

  return {
    onDidLoad: onDidLoad.event,
    loadedRuns: () => loaded.keys(),
    placeOf(runId, path, fileLine) {
      const result = loaded.get(runId);
      const file = result?.files.get(path);
      if (result === undefined || file === undefined) return null;
      const uri = uriOf({ runId, path, side: 'after', commit: result.commit });
      const shown = result.folder === null ? file.after.lineNumbers.indexOf(fileLine) : fileLine - 1;
      return { uri, line: Math.max(0, shown) };
    },
    async show(runId, path) {
      const run = runsOf(host)[runId];
      const commit = run?.headCommit ?? '';
      const { diff, faults } = await resultOf(runId, `${runId}@${commit}`);
      const files = path === undefined ? recordLast(diff.files) : diff.files.filter((file) => file.path === path);
      const [first] = files;
      if (first === undefined)
        throw new Error(path === undefined ? 'The run has changed no files yet.' : `The run did not change ${path}.`);
      const uri = (file: string, side: DiffSide): vscode.Uri => uriOf({ runId, path: file, side, commit });
      const title = run === undefined ? runId : titleOf(run);
      warnOf(files, faults);
      if (files.length === 1) {
        await vscode.commands.executeCommand(
          'vscode.diff',
          uri(first.path, 'before'),
          uri(first.path, 'after'),
          showHidden(`${first.path} – ${title}`),
        );
        return;
      }
      const label = `Changes – ${title}`;
      severalShown.set(label, { runId, commit });
      await showChanges(label, files, uri);
    },
    fileLine({ path, side, runId }, line) {
      const result = loaded.get(runId);
      if (result === undefined || result.folder !== null) return line;
      return result.files.get(path)?.[side].lineNumbers[line - 1] ?? 0;
    },
    dispose() {
      onDidLoad.dispose();
      provider.dispose();
    },
  };
}

/** Opens one editor of all these files. */
async function showChanges(
  label: string,
  files: readonly FileChange[],
  uri: (file: string, side: DiffSide) => vscode.Uri,
): Promise<void> {
  const sides = files.map(({ path, status }) => [
    uri(path, 'after'),
    status === 'added' ? undefined : uri(path, 'before'),
    status === 'deleted' ? undefined : uri(path, 'after'),
  ]);
  await vscode.commands.executeCommand('vscode.changes', label, sides);
}

/** Editors of several files by their labels, to which the editor adds how many they are. It says nothing else of them. */
const severalShown = new Map<string, { readonly runId: string; readonly commit: string }>();

/** The result whose files the editor in front shows all at once; `null` where it shows something else. */
export function resultInFront(): { readonly runId: string; readonly commit: string } | null {
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  if (tab === undefined || tab.input instanceof vscode.TabInputText || tab.input instanceof vscode.TabInputTextDiff)
    return null;
  const counted = / \(\d[^()]*\)$/;
  return severalShown.get(tab.label) ?? severalShown.get(tab.label.replace(counted, '')) ?? null;
}

/** One side as a text, with what its lines do not show at its end. */
function sideText(file: ReviewedFile & Readonly<Record<DiffSide, PatchSide>>, side: DiffSide): string {
  const notes = changeNotes(file).map((note) => `⋯ ${note}\n`);
  return showHidden(`${file[side].text}${side === 'after' ? notes.join('') : ''}`);
}

/** Says what a person may overlook in these files, and where they are not shown as they are. */
function warnOf(files: readonly FileChange[], faults: readonly string[]): void {
  const [fault] = faults;
  if (fault !== undefined) {
    void vscode.window.showErrorMessage(
      plainMessage(`${fault} These changes are not shown as they are: look at the run's branch before you decide.`),
    );
  }
  const warned = files.flatMap((file) => {
    const notes = [...(file.warnings ?? []), ...(file.leftOut === undefined ? [] : [leftOutText(file)])];
    return notes.length === 0 ? [] : [`${file.path}: ${notes.join('; ')}`];
  });
  if (warned.length === 0) return;
  const rest = warned.length > WARNED ? ` And ${warned.length - WARNED} more files.` : '';
  void vscode.window.showWarningMessage(plainMessage(`Look closely. ${warned.slice(0, WARNED).join('. ')}.${rest}`));
}

/** Sorts the agent's changes before the run's own record. */
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

function uriOf({ runId, path, side, commit }: DiffDocument): vscode.Uri {
  return vscode.Uri.from({ scheme: DIFF_SCHEME, authority: side, path: `/${path}`, query: `${runId}@${commit}` });
}

/** The document of an address; `null` for one of another scheme. */
export function documentOf(uri: vscode.Uri | undefined): DiffDocument | null {
  if (uri?.scheme !== DIFF_SCHEME) return null;
  const side = uri.authority === 'before' ? 'before' : 'after';
  const at = uri.query.lastIndexOf('@');
  return { runId: uri.query.slice(0, at), path: uri.path.slice(1), side, commit: uri.query.slice(at + 1) };
}
