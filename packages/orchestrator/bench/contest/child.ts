/** Starts a measuring process, listens to what it reports, and ends it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { familyOf } from './processes.ts';

const LAST_WORDS = 2_000;

export interface ChildOptions<Message> {
  /** One that reports nothing for so long is killed. */
  readonly silenceS: number;
  /** `kill` ends it and all that it started at once, as the loss of the machine would: nothing is told. */
  readonly onMessage: (message: Message, kill: () => void) => void;
}

/**
 * Runs a program of the bench with one JSON argument until it ends.
 * @returns why it did not end well, in words; `undefined` when it did or was killed by `onMessage`
 */
export async function runChild<Message>(
  program: string,
  argument: object,
  { silenceS, onMessage }: ChildOptions<Message>,
): Promise<string | undefined> {
  const child = fork(program, [JSON.stringify(argument)], {
    execArgv: ['--expose-gc', '--no-warnings'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lastWords = '';
  let failure: string | undefined;
  const kill = (): void => {
    clearTimeout(silence);
    if (child.pid !== undefined) killWithAll(child.pid);
  };
  const giveUp = (): void => {
    failure = `nothing for ${silenceS} s, so it was ended`;
    kill();
  };
  let silence = setTimeout(giveUp, silenceS * 1_000);
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (lastWords = (lastWords + text).slice(-LAST_WORDS)));
  child.on('message', (message) => {
    clearTimeout(silence);
    silence = setTimeout(giveUp, silenceS * 1_000);
    onMessage(message as Message, kill); // Both ends are in this folder.
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(silence);
  // A process that was killed has no code.
  if (code !== null && code !== 0) failure ??= `ended with code ${code}: ${lastWords.trim()}`;
  return failure;
}

function killWithAll(pid: number): void {
  for (const member of familyOf(pid)) {
    try {
      process.kill(member, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

/** For the program: hands a message to the bench. Resolves when it is there. */
export function report(message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!process.send) throw new Error('This is started by the bench, as a child that reports to it.');
    process.send(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });
}

/** For the program: ends it when the bench is gone, since nobody waits for its result then. */
export function endWithParent(): void {
  process.once('disconnect', () => process.exit());
}
