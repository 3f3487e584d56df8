/** The thread of `event-loop-watch.ts`: counts missed heartbeats, asks where the main thread stands, ends the process. */
import { writeFileSync, writeSync } from 'node:fs';
import { type Debugger, Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import { CURRENT_ACTIVITY } from '../runner/activity-scope.ts';
import { BEAT_MS, type WatchOrder } from './event-loop-watch.ts';

const { beats, file, logAfterMs, endAfterMs } = workerData as WatchOrder;
const STDERR = 2;
const ERROR_LEVEL = 50;
/** Frames of the stack that are logged, the innermost first. */
const FRAMES = 5;

let seen = -1;
// Counted in rounds of this thread, since a machine that slept has missed no heartbeat.
let missed = 0;
let scope: object | null = null;
let where = 'unknown';

setInterval(() => {
  const beat = Atomics.load(beats, 0);
  missed = beat === seen ? missed + 1 : 0;
  seen = beat;
  const blockedMs = missed * BEAT_MS;
  if (blockedMs >= logAfterMs && blockedMs < logAfterMs + BEAT_MS) lookAtMainThread();
  if (blockedMs >= endAfterMs) endProcess();
}, BEAT_MS);

function lookAtMainThread(): void {
  scope = null;
  const session = new Session();
  session.connectToMainThread();
  const files = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => {
    files.set(scriptId, url.slice(url.lastIndexOf('/') + 1));
  });
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    const frames = callFrames.slice(0, FRAMES);
    where = frames.map((frame) => placeOf(frame, files.get(frame.location.scriptId))).join(' < ');
    const [frame] = callFrames;
    if (frame === undefined) return;
    const expression = `process[Symbol.for('${CURRENT_ACTIVITY}')]()`;
    const question = { callFrameId: frame.callFrameId, expression, returnByValue: true, silent: true };
    session.post(
      'Debugger.evaluateOnCallFrame',
      question,
      (_, answer: Partial<Debugger.EvaluateOnCallFrameReturnType> | undefined) => {
        const value: unknown = answer?.result?.value;
        scope = typeof value === 'object' ? value : null;
        say(`The event loop has been blocked for ${logAfterMs / 1_000} s.`);
        session.post('Debugger.resume');
        session.post('Debugger.disable', () => session.disconnect());
      },
    );
  });
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

function placeOf({ functionName, location }: Debugger.CallFrame, file = 'unknown'): string {
  return `${functionName || 'anonymous'} (${file}:${location.lineNumber + 1})`;
}

function endProcess(): never {
  if (scope !== null) writeFileSync(file, JSON.stringify({ ...scope, where }));
  say(`The event loop has been blocked for ${endAfterMs / 1_000} s: the process is ended, to be started again.`);
  process.kill(process.pid, 'SIGKILL');
  throw new Error('the process is ended');
}

/** The logger lives in the blocked thread, so the line is written as it would. */
function say(msg: string): void {
  writeSync(
    STDERR,
    `${JSON.stringify({ level: ERROR_LEVEL, time: Date.now(), pid: process.pid, ...scope, where, msg })}\n`,
  );
}
