/**
 * Comments beside the lines of a result, in the editor's own threads. The server keeps them, as one list with those of the
 * panels.
 */
import type { RunView } from '@autonomous/shared';
import { takesComments } from '@autonomous/shared/presentation';
import * as vscode from 'vscode';
import { sayFailure } from '../commands/register.ts';
import { type Comment, CommentThreads, isAlike, redraw, textOf } from './comment-threads.ts';
import { type DiffDocument, type DiffDocuments, documentOf } from './diff-documents.ts';
import { clientOf, type Host, runsOf } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';

export interface ReviewComments extends vscode.Disposable {
  /** Draws the comments as the store has them now. */
  draw(): void;
}

export function createReviewComments(host: Host, diffs: DiffDocuments): ReviewComments {
  const controller = createController(host);
  const threads = new CommentThreads(host, diffs, controller);
  const actions = new CommentActions(host, diffs, threads);
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
    vscode.commands.registerCommand(
      COMMANDS.commentOnLine,
      saying(() => actions.commentOnLine()),
    ),
    vscode.commands.registerCommand(
      COMMANDS.addComment,
      saying(({ thread, text }: vscode.CommentReply) => actions.add(thread, text)),
    ),
    vscode.commands.registerCommand(COMMANDS.editComment, saying(startEditing)),
    vscode.commands.registerCommand(
      COMMANDS.saveComment,
      saying((comment: Comment) => actions.save(comment)),
    ),
    vscode.commands.registerCommand(
      COMMANDS.cancelEditComment,
      saying((comment: Comment) => actions.cancelEdit(comment)),
    ),
    vscode.commands.registerCommand(
      COMMANDS.deleteComment,
      saying((comment: Comment) => actions.remove(comment)),
    ),
  ];
  const loading = diffs.onDidLoad(() => threads.draw());

  return {
    draw: () => threads.draw(),
    dispose() {
      loading.dispose();
      for (const command of commands) command.dispose();
      controller.dispose();
    },
  };
}

/** Offers a comment at each line of the changed side, while the run's gate takes comments. */
function createController(host: Host): vscode.CommentController {
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
  return controller;
}

/** Commands of a person about comments. */
class CommentActions {
  readonly #host: Host;
  readonly #diffs: DiffDocuments;
  readonly #threads: CommentThreads;

  constructor(host: Host, diffs: DiffDocuments, threads: CommentThreads) {
    this.#host = host;
    this.#diffs = diffs;
    this.#threads = threads;
  }

  /** For the keyboard and the context menu: one line of words at the cursor. */
  async commentOnLine(): Promise<void> {
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
    await this.add(this.#threads.at(uri, line), text);
  }

  /** Sends a text as a comment; one that the server refuses stays in the thread. */
  async add(thread: vscode.CommentThread, text: string): Promise<void> {
    const document = documentOf(thread.uri);
    if (document === null || text.trim() === '') return;
    const isOurs = this.#threads.has(thread);
    try {
      await this.#send(document, lineOf(this.#diffs, document, thread), text.trim());
      if (!isOurs) thread.dispose();
    } catch (error) {
      this.#threads.keepUnsent(thread, text);
      sayFailure(this.#host, error);
    }
  }

  async save(comment: Comment): Promise<void> {
    const { thread, kept } = comment;
    const text = textOf(comment).trim();
    if (text === '') return;
    if (kept === undefined) {
      redraw(thread, (each) => (isAlike(each, comment) ? null : each));
      return this.add(thread, text);
    }
    const view = await clientOf(this.#host).editComment(kept.id, text);
    redraw(thread, (each) => (isAlike(each, comment) ? { ...each, mode: vscode.CommentMode.Preview } : each));
    return this.#take(view);
  }

  cancelEdit(comment: Comment): void {
    redraw(comment.thread, (each) => {
      if (!isAlike(each, comment)) return each;
      return each.kept === undefined ? null : { ...each, body: each.kept.text, mode: vscode.CommentMode.Preview };
    });
    this.#threads.draw();
  }

  async remove(comment: Comment): Promise<void> {
    if (comment.kept === undefined) return this.cancelEdit(comment);
    return this.#take(await clientOf(this.#host).deleteComment(comment.kept.id));
  }

  /** @throws what the server refuses, or that no gate takes comments */
  async #send(document: DiffDocument, line: number, text: string): Promise<void> {
    const run = runsOf(this.#host)[document.runId];
    const gate = run?.gate ?? null;
    if (gate === null || !takesComments(gate))
      throw new Error('The run waits at no gate that takes comments: write them when its next result is there.');
    this.#take(await clientOf(this.#host).addComment(gate.id, { path: document.path, line, text }));
  }
  #take(run: RunView): void {
    this.#host.connection.store.trigger.listed({ runs: [run] });
    this.#threads.draw();
  }
}

function startEditing(comment: Comment): void {
  redraw(comment.thread, (each) => (each === comment ? { ...each, mode: vscode.CommentMode.Editing } : each));
}

function lineOf(diffs: DiffDocuments, document: DiffDocument, thread: vscode.CommentThread): number {
  return thread.range === undefined ? 0 : diffs.fileLine(document, thread.range.start.line + 1);
}
