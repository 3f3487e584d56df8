/**
 * Comment threads of the editor beside the lines of results, drawn from the store. A text that the server has not taken stays in
 * its thread as it was written.
 */
import type { ReviewComment } from '@autonomous/shared';
import * as vscode from 'vscode';
import type { DiffDocuments } from './diff-documents.ts';
import { type Host, runsOf } from '../host.ts';
import { plainMessage } from '../plain-message.ts';

/** A comment as the editor shows it. `kept` is what the server has of it; absent while it has none. */
export interface Comment extends vscode.Comment {
  readonly kept?: ReviewComment | undefined;
  readonly thread: vscode.CommentThread;
}

interface WantedThread {
  readonly uri: vscode.Uri;
  readonly line: number;
  readonly comments: ReviewComment[];
}

export class CommentThreads {
  readonly #host: Host;
  readonly #diffs: DiffDocuments;
  readonly #controller: vscode.CommentController;
  /** By their document and line. */
  readonly #threads = new Map<string, vscode.CommentThread>();

  constructor(host: Host, diffs: DiffDocuments, controller: vscode.CommentController) {
    this.#host = host;
    this.#diffs = diffs;
    this.#controller = controller;
  }

  /** Draws the comments as the store has them now. */
  draw(): void {
    const wanted = this.#wanted();
    for (const [key, thread] of this.#threads) {
      if (wanted.has(key)) continue;
      const own = unkept(thread);
      if (own.length > 0) thread.comments = own;
      else this.#drop(key, thread);
    }
    const runs = runsOf(this.#host);
    for (const [key, { uri, line, comments }] of wanted) {
      const thread = this.#threads.get(key) ?? this.#create(uri, line);
      if (!this.#threads.has(key)) thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
      this.#threads.set(key, thread);
      fill(thread, comments, runs);
    }
  }

  /** The thread at a line, drawn or new. A new one is drawn when the store has a comment for it. */
  at(uri: vscode.Uri, line: number): vscode.CommentThread {
    return this.#threads.get(keyOf(uri, line)) ?? this.#create(uri, line);
  }

  /** Whether a thread was drawn from the store, or keeps a text for it. */
  has(thread: vscode.CommentThread): boolean {
    return [...this.#threads.values()].includes(thread);
  }

  /** Keeps a text that the server has not taken in its thread, to be saved again. */
  keepUnsent(thread: vscode.CommentThread, text: string): void {
    const own = thread;
    own.comments = [...thread.comments, draft(thread, text)];
    this.#threads.set(keyOf(thread.uri, thread.range?.start.line ?? 0), thread);
  }

  /** By document and line, the comments that the store has. */
  #wanted(): ReadonlyMap<string, WantedThread> {
    const wanted = new Map<string, WantedThread>();
    const runs = runsOf(this.#host);
    for (const runId of this.#diffs.loadedRuns()) {
      for (const comment of runs[runId]?.comments ?? []) {
        const place = this.#diffs.placeOf(runId, comment.path, comment.line);
        if (place === null) continue;
        const key = keyOf(place.uri, place.line);
        const known = wanted.get(key) ?? { ...place, comments: [] };
        known.comments.push(comment);
        wanted.set(key, known);
      }
    }
    return wanted;
  }

  #create(uri: vscode.Uri, line: number): vscode.CommentThread {
    return this.#controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), []);
  }

  #drop(key: string, thread: vscode.CommentThread): void {
    this.#threads.delete(key);
    thread.dispose();
  }
}

/** Changes the comments of a thread; `null` leaves one out. */
export function redraw(thread: vscode.CommentThread, change: (comment: Comment) => Comment | null): void {
  const own = thread;
  own.comments = (thread.comments as readonly Comment[]).flatMap((each) => change(each) ?? []);
}

function fill(thread: vscode.CommentThread, comments: readonly ReviewComment[], runs: ReturnType<typeof runsOf>): void {
  const before = thread.comments as readonly Comment[];
  const next = [...comments.map((kept) => commentOf(thread, kept, before, runs)), ...unkept(thread)];
  const isSame = next.length === before.length && next.every((each, index) => each === before[index]);
  if (isSame) return;
  const own = thread;
  own.comments = next;
  own.label = 'Feedback for the agent';
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
export function isAlike(one: Comment, other: Comment): boolean {
  if (one.kept !== undefined || other.kept !== undefined) return one.kept?.id === other.kept?.id;
  return one === other || textOf(one) === textOf(other);
}

export function textOf({ body }: Comment): string {
  return typeof body === 'string' ? body : body.value;
}

function keyOf(uri: vscode.Uri, line: number): string {
  return `${uri.toString()}#${line}`;
}
