/**
 * Review threads of pull requests in the editor: beside the lines of shown results, and of the files of a checked-out branch.
 * They are read from the server, which reads them from the forge; answers and resolutions take the same way back.
 */
import { type PullRequestThread, type RunPullRequest, type RunView, showHidden } from '@autonomous/shared';
import * as vscode from 'vscode';
import type { CheckedOutRuns } from '../git/checked-out-runs.ts';
import { sayFailure } from '../commands/register.ts';
import type { DiffDocuments } from './diff-documents.ts';
import { clientOf, type Host, runsOf } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';

export interface ForgeThreads extends vscode.Disposable {
  /** Reads what has changed, and draws it. */
  draw(): void;
}

/** A pull request is read again when the person comes back to the window after this time. */
const AGAIN_AFTER_MS = 30_000;

/** A thread of the editor, and what it shows. */
interface Drawn {
  readonly runId: string;
  readonly threadId: string;
  readonly shown: vscode.CommentThread;
}

interface Reading {
  /** Sequence of the run's last event at that time. */
  readonly sequence: number;
  readonly readAt: number;
  readonly pullRequest: RunPullRequest | null;
}

export function createForgeThreads(host: Host, diffs: DiffDocuments, checkedOut: CheckedOutRuns): ForgeThreads {
  const controller = vscode.comments.createCommentController('autonomous.pullRequest', 'Pull Request');
  controller.options = { prompt: 'Answer in this thread', placeHolder: 'Answer at the forge' };
  const threads = new ForgeThreadDrawer(host, diffs, checkedOut, controller);
  const saying =
    <Argument>(work: (argument: Argument) => Promise<void>) =>
    (argument: Argument): Promise<void> =>
      work(argument).catch((error: unknown) => sayFailure(host, error));
  const disposables = [
    controller,
    vscode.commands.registerCommand(
      COMMANDS.answerThread,
      saying(({ thread, text }: vscode.CommentReply) => threads.answer(thread, text)),
    ),
    vscode.commands.registerCommand(
      COMMANDS.resolveThread,
      saying((thread: vscode.CommentThread) => threads.resolve(thread)),
    ),
    diffs.onDidLoad(() => threads.draw()),
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused) threads.draw(AGAIN_AFTER_MS);
    }),
  ];
  return {
    draw: () => threads.draw(),
    dispose() {
      for (const disposable of disposables) disposable.dispose();
    },
  };
}

class ForgeThreadDrawer {
  readonly #host: Host;
  readonly #diffs: DiffDocuments;
  readonly #checkedOut: CheckedOutRuns;
  readonly #controller: vscode.CommentController;
  readonly #readings = new Map<string, Reading>();
  readonly #underWay = new Set<string>();
  /** By run, thread and document. */
  readonly #drawn = new Map<string, Drawn>();
  /** Idempotency keys by thread and text: the same text that is sent again is said once. */
  readonly #keys = new Map<string, string>();

  constructor(host: Host, diffs: DiffDocuments, checkedOut: CheckedOutRuns, controller: vscode.CommentController) {
    this.#host = host;
    this.#diffs = diffs;
    this.#checkedOut = checkedOut;
    this.#controller = controller;
  }

  /** @param olderThanMs what was read longer ago is read again; absent: only what the feed told of */
  draw(olderThanMs = Number.POSITIVE_INFINITY): void {
    for (const run of this.#runs()) {
      const known = this.#readings.get(run.id);
      const isNew = known?.sequence === run.lastSequence && Date.now() - known.readAt < olderThanMs;
      if (!isNew) void this.#read(run);
    }
    this.#redraw();
  }

  async answer(shown: vscode.CommentThread, text: string): Promise<void> {
    const { runId, threadId } = this.#of(shown);
    const body = text.trim();
    if (body === '') return;
    const request = JSON.stringify([threadId, body]);
    const key = this.#keys.get(request) ?? crypto.randomUUID();
    this.#keys.set(request, key);
    try {
      await clientOf(this.#host).replyToThread(runId, threadId, body, key);
    } catch (error) {
      // The editor has emptied the field.
      const own = shown;
      own.comments = [...shown.comments.filter((each) => !isUnsent(each) || each.body !== body), unsent(body)];
      throw error;
    }
    this.#keys.delete(request);
    const own = shown;
    own.comments = shown.comments.filter((each) => !isUnsent(each) || each.body !== body);
    await this.#readAgain(runId);
  }

  async resolve(shown: vscode.CommentThread): Promise<void> {
    const { runId, threadId } = this.#of(shown);
    await clientOf(this.#host).resolveThread(runId, threadId);
    await this.#readAgain(runId);
  }

  #of(shown: vscode.CommentThread): Drawn {
    // The editor gives back the thread itself, or a copy with its address and place.
    const found = [...this.#drawn.values()].find((each) => each.shown === shown);
    if (found === undefined) throw new Error('This thread is not shown any more: open the pull request again.');
    return found;
  }

  /** Runs with a pull request whose files may be in sight. */
  #runs(): readonly RunView[] {
    const runs = runsOf(this.#host);
    const shown = [...this.#diffs.loadedRuns()].flatMap((id) => runs[id] ?? []);
    const all = new Set([...shown, ...this.#checkedOut.list().map(({ run }) => run)]);
    return [...all].filter(({ published }) => published?.pullRequest !== undefined);
  }

  async #readAgain(runId: string): Promise<void> {
    const run = runsOf(this.#host)[runId];
    if (run !== undefined) await this.#read(run);
  }

  async #read({ id, lastSequence: sequence }: RunView): Promise<void> {
    const { client } = this.#host.connection;
    if (client === null || this.#underWay.has(id)) return;
    this.#underWay.add(id);
    try {
      this.#readings.set(id, { sequence, readAt: Date.now(), pullRequest: await client.getPullRequest(id) });
    } catch (error) {
      this.#host.log.warn(`The pull request of run ${id} cannot be read: ${String(error)}`);
      const pullRequest = this.#readings.get(id)?.pullRequest ?? null;
      this.#readings.set(id, { sequence, readAt: Date.now(), pullRequest });
    } finally {
      this.#underWay.delete(id);
    }
    this.#redraw();
  }

  #redraw(): void {
    const wanted = new Set<string>();
    for (const run of this.#runs()) {
      const pullRequest = this.#readings.get(run.id)?.pullRequest;
      if (pullRequest === null || pullRequest === undefined) continue;
      for (const thread of pullRequest.threads) {
        for (const place of this.#placesOf(run, thread)) {
          const key = `${run.id} ${thread.id} ${place.uri.toString()}`;
          wanted.add(key);
          this.#show(key, place, { runId: run.id, number: pullRequest.number, thread });
        }
      }
    }
    for (const [key, { shown }] of this.#drawn) {
      if (wanted.has(key)) continue;
      shown.dispose();
      this.#drawn.delete(key);
    }
  }

  /** Where the line of a thread is: in the document of the result, and in the file of a checked-out branch. */
  #placesOf(
    run: RunView,
    { path, line }: PullRequestThread,
  ): readonly { readonly uri: vscode.Uri; readonly line: number }[] {
    const inResult = this.#diffs.placeOf(run.id, path, line ?? 1);
    const inFolders = this.#checkedOut
      .list()
      .filter((each) => each.run.id === run.id)
      .map(({ root }) => ({ uri: vscode.Uri.joinPath(root, path), root }))
      // A path of the forge leads to no place outside of the folder.
      .filter(({ uri, root }) => uri.path.startsWith(`${root.path}/`))
      .map(({ uri }) => ({ uri, line: Math.max(0, (line ?? 1) - 1) }));
    return [...(inResult === null ? [] : [inResult]), ...inFolders];
  }

  #show(
    key: string,
    { uri, line }: { readonly uri: vscode.Uri; readonly line: number },
    { runId, number, thread }: { readonly runId: string; readonly number: number; readonly thread: PullRequestThread },
  ): void {
    const known = this.#drawn.get(key)?.shown;
    const range = new vscode.Range(line, 0, line, 0);
    const shown = known ?? this.#controller.createCommentThread(uri, range, []);
    if (known === undefined) {
      this.#drawn.set(key, { runId, threadId: thread.id, shown });
      shown.canReply = true;
      shown.collapsibleState = thread.isResolved
        ? vscode.CommentThreadCollapsibleState.Collapsed
        : vscode.CommentThreadCollapsibleState.Expanded;
    }
    const contextValue = thread.isResolved ? 'resolved' : 'open';
    if (known !== undefined && shown.contextValue !== contextValue)
      shown.collapsibleState = vscode.CommentThreadCollapsibleState.Collapsed;
    shown.contextValue = contextValue;
    shown.state = thread.isResolved ? vscode.CommentThreadState.Resolved : vscode.CommentThreadState.Unresolved;
    shown.label = `Pull request ${number}${thread.isResolved ? ', resolved' : ''}${thread.isOutdated ? ', the lines have changed since' : ''}`;
    const comments = [...thread.comments.map(commentOf), ...shown.comments.filter(isUnsent)];
    if (!isSame(shown.comments, comments)) shown.comments = comments;
  }
}

function commentOf({ author, isOwn, body, isClipped, at }: PullRequestThread['comments'][number]): vscode.Comment {
  const who = isOwn ? 'this server' : author.mayWrite ? null : 'may not write to the repository';
  const labels = [...(who === null ? [] : [who]), ...(isClipped ? ['the rest is at the forge only'] : [])];
  return {
    // A text is shown as it is: no link and no command comes of it.
    body: showHidden(body),
    mode: vscode.CommentMode.Preview,
    author: { name: plainMessage(author.login) },
    timestamp: new Date(at),
    ...(labels.length === 0 ? {} : { label: labels.join(', ') }),
  };
}

/** A text that the server has not taken. */
function unsent(body: string): vscode.Comment {
  const label = 'not sent: answer again';
  return { body, mode: vscode.CommentMode.Preview, author: { name: 'You' }, label, contextValue: 'unsent' };
}

function isUnsent({ contextValue }: vscode.Comment): boolean {
  return contextValue === 'unsent';
}

function isSame(before: readonly vscode.Comment[], after: readonly vscode.Comment[]): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}
