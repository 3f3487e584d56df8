/**
 * Comments beside the lines of a result, in the editor's own threads. The server keeps them, as one list with those of the
 * panels: they are drawn from the store, and what the server has not taken stays as it was written.
 */
import { type ReviewComment, type RunView, takesComments } from '@autonomous/shared';
import * as vscode from 'vscode';
import { sayFailure } from './commands/register.ts';
import { type DiffDocument, type DiffDocuments, documentOf } from './diff-documents.ts';
import { clientOf, type Host, runsOf } from './host.ts';
import { COMMANDS } from './identifiers.ts';
import { plainMessage } from './plain-message.ts';

export interface ReviewComments extends vscode.Disposable {
  /** Draws the comments as the store has them now. */
  draw(): void;
}

/** A comment as the editor shows it. `kept` is what the server has of it; absent while it has none. */
interface Comment extends vscode.Comment {
  readonly kept?: ReviewComment | undefined;
  readonly thread: vscode.CommentThread;
}

export function createReviewComments(host: Host, diffs: DiffDocuments): ReviewComments {
  const controller = vscode.comments.createCommentController('autonomous.review', 'Autonomous');
  controller.options = {
    prompt: 'What should be different?',
    placeHolder: 'Sent to the agent with the next decision that has text',
  };
  controller.commentingRangeProvider = {
    provideCommentingRanges(document) {
      const shown = documentOf(document.uri);
      const run = shown === null ? undefined : runsOf(host)[shown.runId];
      return shown?.side === 'after' && run !== undefined && takesComments(run.gate)
        ? [new vscode.Range(0, 0, Math.max(0, document.lineCount - 1), 0)]
        : [];
    },
  };
  /** By their document and line. */
  const threads = new Map<string, vscode.CommentThread>();

  const draw = (): void => {
    const wanted = new Map<string, { readonly uri: vscode.Uri; readonly line: number; comments: ReviewComment[] }>();
    const runs = runsOf(host);
    for (const runId of diffs.loadedRuns()) {
      for (const comment of runs[runId]?.comments ?? []) {
        const place = diffs.placeOf(runId, comment.path, comment.line);
        if (place === null) continue;
        const key = keyOf(place.uri, place.line);
        const known = wanted.get(key) ?? { ...place, comments: [] };
        known.comments.push(comment);
        wanted.set(key, known);
      }
    }
    for (const [key, thread] of threads) {
      if (wanted.has(key)) continue;
      const own = unkept(thread);
      if (own.length > 0) thread.comments = own;
      else drop(key, thread);
    }
    for (const [key, { uri, line, comments }] of wanted) {
      const thread = threads.get(key) ?? controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), []);
      if (!threads.has(key)) thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
      threads.set(key, thread);
      fill(thread, comments, runs);
    }
  };
  const drop = (key: string, thread: vscode.CommentThread): void => {
    threads.delete(key);
    thread.dispose();
  };
  const fill = (
    thread: vscode.CommentThread,
    comments: readonly ReviewComment[],
    runs: ReturnType<typeof runsOf>,
  ): void => {
    const before = thread.comments as readonly Comment[];
    const next = [...comments.map((kept) => commentOf(thread, kept, before, runs)), ...unkept(thread)];
    const isSame = next.length === before.length && next.every((each, index) => each === before[index]);
    if (isSame) return;
    const own = thread;
    own.comments = next;
    own.label = 'Feedback for the agent';
  };

  /** @throws what the server refuses, or that no gate takes comments */
  const send = async (document: DiffDocument, line: number, text: string): Promise<void> => {
    const run = runsOf(host)[document.runId];
    const gate = run?.gate ?? null;
    if (gate === null || !takesComments(gate))
      throw new Error('The run waits at no gate that takes comments: write them when its next result is there.');
    take(await clientOf(host).addComment(gate.id, { path: document.path, line, text }));
  };
  const take = (run: RunView): void => {
    host.connection.store.trigger.listed({ runs: [run] });
    draw();
  };
  const add = async (thread: vscode.CommentThread, text: string): Promise<void> => {
    const document = documentOf(thread.uri);
    if (document === null || text.trim() === '') return;
    const isOurs = [...threads.values()].includes(thread);
    try {
      await send(document, lineOf(diffs, document, thread), text.trim());
      if (!isOurs) thread.dispose();
    } catch (error) {
      keepUnsent(thread, text);
      sayFailure(host, error);
    }
  };
  /** Keeps a text that the server has not taken in its thread, to be saved again. */
  const keepUnsent = (thread: vscode.CommentThread, text: string): void => {
    const own = thread;
    own.comments = [...thread.comments, draft(thread, text)];
    threads.set(keyOf(thread.uri, thread.range?.start.line ?? 0), thread);
  };

  /** For the keyboard and the context menu: one line of words at the cursor. */
  const commentOnLine = async (): Promise<void> => {
    const editor = vscode.window.activeTextEditor;
    const document = documentOf(editor?.document.uri);
    if (editor === undefined || document?.side !== 'after') {
      void vscode.window.showInformationMessage(
        'Put the cursor into the changed side of a result first (Show Changes).',
      );
      return;
    }
    const { uri } = editor.document;
    const { line } = editor.selection.active;
    const text = await vscode.window.showInputBox({
      title: `Comment on line ${line + 1}`,
      prompt: 'What should be different? Sent to the agent with the next decision that has text.',
      ignoreFocusOut: true,
    });
    if (text === undefined || text.trim() === '') return;
    const known = threads.get(keyOf(uri, line));
    await add(known ?? controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), []), text);
  };

  const redraw = (thread: vscode.CommentThread, change: (comment: Comment) => Comment | null): void => {
    const own = thread;
    own.comments = (thread.comments as readonly Comment[]).flatMap((each) => change(each) ?? []);
  };
  const edit = (comment: Comment): void =>
    redraw(comment.thread, (each) => (each === comment ? { ...each, mode: vscode.CommentMode.Editing } : each));
  const save = async (comment: Comment): Promise<void> => {
    const { thread, kept } = comment;
    const text = textOf(comment).trim();
    if (text === '') return;
    if (kept === undefined) {
      redraw(thread, (each) => (isAlike(each, comment) ? null : each));
      return add(thread, text);
    }
    const view = await clientOf(host).editComment(kept.id, text);
    redraw(thread, (each) => (isAlike(each, comment) ? { ...each, mode: vscode.CommentMode.Preview } : each));
    return take(view);
  };
  const cancelEdit = (comment: Comment): void => {
    redraw(comment.thread, (each) => {
      if (!isAlike(each, comment)) return each;
      return each.kept === undefined ? null : { ...each, body: each.kept.text, mode: vscode.CommentMode.Preview };
    });
    draw();
  };
  const remove = async (comment: Comment): Promise<void> => {
    if (comment.kept === undefined) return cancelEdit(comment);
    return take(await clientOf(host).deleteComment(comment.kept.id));
  };

  const saying =
    <Args extends unknown[]>(work: (...args: Args) => unknown) =>
    async (...args: Args): Promise<void> => {
      try {
        await work(...args);
      } catch (error) {
        sayFailure(host, error);
      }
    };
  const commands = [
    vscode.commands.registerCommand(COMMANDS.commentOnLine, saying(commentOnLine)),
    vscode.commands.registerCommand(
      COMMANDS.addComment,
      saying(({ thread, text }: vscode.CommentReply) => add(thread, text)),
    ),
    vscode.commands.registerCommand(COMMANDS.editComment, saying(edit)),
    vscode.commands.registerCommand(COMMANDS.saveComment, saying(save)),
    vscode.commands.registerCommand(COMMANDS.cancelEditComment, saying(cancelEdit)),
    vscode.commands.registerCommand(COMMANDS.deleteComment, saying(remove)),
  ];
  const loading = diffs.onDidLoad(draw);

  return {
    draw,
    dispose() {
      loading.dispose();
      for (const command of commands) command.dispose();
      controller.dispose();
    },
  };
}

function commentOf(
  thread: vscode.CommentThread,
  kept: ReviewComment,
  before: readonly Comment[],
  runs: ReturnType<typeof runsOf>,
): Comment {
  const known = before.find((each) => each.kept?.id === kept.id);
  const isLeft = runs[kept.gateId.slice(0, kept.gateId.lastIndexOf('.'))]?.gate?.id !== kept.gateId;
  const label = isLeft ? 'not sent: its gate was decided without it' : 'not sent yet';
  // A comment that is being edited keeps its typed text.
  const isKnown = known?.kept?.at === kept.at && known.label === label;
  if (known !== undefined && (isKnown || known.mode === vscode.CommentMode.Editing)) return known;
  // A text is shown as it is: no link and no command comes of it.
  const mode = vscode.CommentMode.Preview;
  return { kept, thread, body: kept.text, mode, author: { name: plainMessage(kept.by) }, label, contextValue: 'note' };
}

function draft(thread: vscode.CommentThread, text: string): Comment {
  const label = 'not kept by the server';
  return {
    thread,
    body: text,
    mode: vscode.CommentMode.Editing,
    author: { name: 'You' },
    label,
    contextValue: 'draft',
  };
}

function unkept(thread: vscode.CommentThread): readonly Comment[] {
  return (thread.comments as readonly Comment[]).filter(({ kept }) => kept === undefined);
}

/** The editor gives a comment back as it was when it was shown. */
function isAlike(one: Comment, other: Comment): boolean {
  if (one.kept !== undefined || other.kept !== undefined) return one.kept?.id === other.kept?.id;
  return one === other || textOf(one) === textOf(other);
}

function textOf({ body }: Comment): string {
  return typeof body === 'string' ? body : body.value;
}

function keyOf(uri: vscode.Uri, line: number): string {
  return `${uri.toString()}#${line}`;
}

function lineOf(diffs: DiffDocuments, document: DiffDocument, thread: vscode.CommentThread): number {
  return thread.range === undefined ? 0 : diffs.fileLine(document, thread.range.start.line + 1);
}
