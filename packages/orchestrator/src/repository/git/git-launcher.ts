/**
 * Speaks with the small process that starts git: one for the whole program, started with the first command, and replaced when much
 * went through it, since a start of git costs in proportion to the memory of the process that starts it.
 */
import { fileURLToPath } from 'node:url';
import { notStarted, SmallProcess } from '../../processes/small-process.ts';
import type { GitOrder, GitQuestion, GitReport } from './git-launcher-process.ts';
import type { GitObjects } from './object-reader.ts';

export type GitRun = Omit<Extract<GitReport, { readonly exitCode: number }>, 'id'>;

/** Input and output of git after which the small process is replaced: it keeps much of the memory that they took. */
const CARRIED_BYTES = 16 * 1024 * 1024;
/** Bytes of an object's name, id, type and size in a message, estimated. */
const OBJECT_BYTES = 200;

const PROGRAM = fileURLToPath(new URL(`./git-launcher-process${import.meta.url.slice(-3)}`, import.meta.url));

/**
 * Runs git to its end.
 * @param signal ends it when it is aborted
 * @throws {Error} when it cannot be started, or when nobody knows how it ended
 */
export async function launchGit(order: Omit<GitOrder, 'id'>, signal?: AbortSignal): Promise<GitRun> {
  const report = await send(order, signal);
  if ('exitCode' in report) return report;
  throw 'fault' in report ? notStarted('Git', report) : new Error('git was not asked for objects');
}

/**
 * Asks a git that is kept for such questions, and started where none is there.
 * @param signal gives the question up when it is aborted
 * @throws {Error} when it ends without an answer
 */
export async function askLaunched(question: Omit<GitQuestion, 'id'>, signal?: AbortSignal): Promise<GitObjects> {
  const report = await send(question, signal);
  if ('objects' in report) return report.objects;
  throw new Error('fault' in report ? report.fault : 'git was not asked to run');
}

async function send(message: Omit<GitOrder, 'id'> | Omit<GitQuestion, 'id'>, signal?: AbortSignal): Promise<GitReport> {
  const launcher = runningLauncher();
  carriedBytes += bytesOf(message);
  const report = await launcher.send<GitReport>(message, { signal });
  carriedBytes += bytesOf(report);
  return report;
}

let running: SmallProcess | null = null;
/** Takes the place of the running one once it has said that it is ready. */
let follower: SmallProcess | null = null;
/** Through the running one, and a little more where the former one still had something under way. */
let carriedBytes = 0;

function runningLauncher(): SmallProcess {
  if (running === null) {
    running = follower ?? startLauncher();
    follower = null;
    carriedBytes = 0;
  }
  if (carriedBytes > CARRIED_BYTES && follower === null) {
    try {
      follower = startLauncher();
    } catch {
      // Where there is no room for another one this one goes on, as it does beside one that hangs at its start.
    }
  }
  return running;
}

/** @throws {Error} where Node says at once that there is no room for it */
function startLauncher(): SmallProcess {
  return new SmallProcess({
    program: PROGRAM,
    starts: 'git',
    onReady(ready) {
      if (follower !== ready) return;
      running?.retire();
      running = ready;
      follower = null;
      carriedBytes = 0;
    },
    onEnd(ended) {
      if (running === ended) running = null;
      if (follower === ended) follower = null;
    },
  });
}

/** Bytes of a message's input, output or objects; the rest of it is small. */
function bytesOf(message: Omit<GitOrder, 'id'> | Omit<GitQuestion, 'id'> | GitReport): number {
  if ('input' in message) return Buffer.byteLength(message.input);
  if ('stdout' in message) return message.stdout.byteLength;
  if ('objects' in message)
    return message.objects.reduce((sum, object) => sum + OBJECT_BYTES + (object?.content.byteLength ?? 0), 0);
  return 0;
}
