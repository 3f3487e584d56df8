/** Comments beside the lines of a result. They are kept until the result is rejected: then they are its feedback. */
import type { ReviewNote } from '@autonomous/shared';
import * as vscode from 'vscode';
import { type DiffDocument, type DiffDocuments, documentOf } from './diff-documents.ts';
import type { ReviewComments } from './host.ts';
import { COMMANDS } from './identifiers.ts';

interface Comment extends vscode.Comment {
  readonly thread: vscode.CommentThread;
}

export function createReviewComments(diffs: DiffDocuments): ReviewComments & vscode.Disposable {
  const controller = vscode.comments.createCommentController('autonomous.review', 'Autonomous');
  controller.options = {
    prompt: 'What should be different?',
    placeHolder: 'Sent to the agent when you reject the result',
  };
  controller.commentingRangeProvider = {
    provideCommentingRanges(document) {
      return documentOf(document.uri)?.side === 'after'
        ? [new vscode.Range(0, 0, Math.max(0, document.lineCount - 1), 0)]
        : [];
    },
  };
  const threads = new Set<vscode.CommentThread>();

  const drop = (thread: vscode.CommentThread): void => {
    threads.delete(thread);
    thread.dispose();
  };
  const notesOf = (runId: string): readonly ReviewNote[] =>
    [...threads].flatMap((thread) => {
      const document = documentOf(thread.uri);
      if (document?.runId !== runId) return [];
      return thread.comments.map((comment) => ({
        path: document.path,
        line: lineOf(diffs, document, thread),
        text: typeof comment.body === 'string' ? comment.body : comment.body.value,
      }));
    });

  const add = (thread: vscode.CommentThread, text: string): void => {
    const comment: Comment = {
      thread,
      body: text,
      mode: vscode.CommentMode.Preview,
      author: { name: 'You' },
      label: 'not sent yet',
      contextValue: 'note',
    };
    const own = thread;
    own.comments = [...thread.comments, comment];
    own.label = 'Feedback for the agent';
    threads.add(thread);
  };
  /** For the keyboard and the context menu: one line of words at the cursor. */
  const commentOnLine = async (): Promise<void> => {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || documentOf(editor.document.uri)?.side !== 'after') {
      void vscode.window.showInformationMessage(
        'Put the cursor into the changed side of a result first (Show Changes).',
      );
      return;
    }
    const { uri } = editor.document;
    const { line } = editor.selection.active;
    const text = await vscode.window.showInputBox({
      title: `Comment on line ${line + 1}`,
      prompt: 'What should be different? Sent to the agent when you reject the result.',
      ignoreFocusOut: true,
    });
    if (text === undefined || text.trim() === '') return;
    const thread = controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), []);
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    add(thread, text.trim());
  };

  const commands = [
    vscode.commands.registerCommand(COMMANDS.commentOnLine, commentOnLine),
    vscode.commands.registerCommand(COMMANDS.addComment, ({ thread, text }: vscode.CommentReply) => add(thread, text)),
    vscode.commands.registerCommand(COMMANDS.deleteComment, (comment: Comment) => {
      const { thread } = comment;
      thread.comments = thread.comments.filter((other) => other !== comment);
      if (thread.comments.length === 0) drop(thread);
    }),
  ];

  return {
    notesOf,
    clear(runId) {
      for (const thread of threads) if (documentOf(thread.uri)?.runId === runId) drop(thread);
    },
    dispose() {
      for (const command of commands) command.dispose();
      controller.dispose();
    },
  };
}

function lineOf(diffs: DiffDocuments, document: DiffDocument, thread: vscode.CommentThread): number {
  return thread.range === undefined ? 0 : diffs.fileLine(document, thread.range.start.line + 1);
}
