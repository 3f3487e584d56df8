/** One `git cat-file` that answers many questions about the objects of a repository, in the order in which they are asked. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

export const READ_OBJECTS = ['cat-file', '--batch-command', '-z'] as const;

export interface ObjectRequest {
  /** As `git rev-parse` takes it: an id, a ref, `<ref>^{tree}`, `<tree>:<path>`. */
  readonly name: string;
  readonly withContent: boolean;
}

export interface GitObject {
  readonly oid: string;
  readonly type: string;
  readonly bytes: number;
  /** Empty where it was not asked for. */
  readonly content: Uint8Array;
}

/** One entry for each request, in the same order; `null` where the repository has no object of that name. */
export type GitObjects = readonly (GitObject | null)[];

/** @throws {Error} for a name with a NUL, which git would read as the end of the request */
export function inputOf(requests: readonly ObjectRequest[]): string {
  if (requests.some(({ name }) => name.includes('\0'))) throw new Error('The name of a git object contains a NUL');
  return requests.map(({ name, withContent }) => `${withContent ? 'contents' : 'info'} ${name}\0`).join('');
}

/** Reads git's answers as their bytes arrive. */
export class ObjectParser {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes without which nothing more can be read. */
  #needed = 1;

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /**
   * The answer to a request; `undefined` until all of its bytes have arrived.
   * @throws {Error} for words that git is not known to say: nothing after them can be told apart
   */
  take(request: ObjectRequest): GitObject | null | undefined {
    if (this.#bytes < this.#needed) return undefined;
    const known = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [known];
    let isBegun = false;
    // A name may hold a newline.
    for (const why of ['missing', 'ambiguous']) {
      const absent = Buffer.from(`${request.name} ${why}\n`);
      const isSame = absent.subarray(0, known.length).equals(known.subarray(0, absent.length));
      if (isSame && known.length >= absent.length) return this.#took(null, absent.length);
      isBegun ||= isSame;
    }
    const end = known.indexOf(10);
    if (isBegun || end === -1) {
      this.#needed = this.#bytes + 1;
      return undefined;
    }
    const header = known.toString('latin1', 0, end);
    // The commit of a submodule is in another repository.
    if (/^[0-9a-f]+ submodule$/.test(header)) return this.#took(null, end + 1);
    const [, oid, type, size] = /^([0-9a-f]{40}|[0-9a-f]{64}) (\w+) (\d+)$/.exec(header) ?? [];
    if (oid === undefined || type === undefined) throw new Error(`git cat-file said '${header.slice(0, 200)}'`);
    const bytes = Number(size);
    const length = end + 1 + (request.withContent ? bytes + 1 : 0);
    this.#needed = length;
    if (this.#bytes < length) return undefined;
    const content = request.withContent ? known.subarray(end + 1, length - 1) : known.subarray(0, 0);
    return this.#took({ oid, type, bytes, content }, length);
  }

  #took(object: GitObject | null, length: number): GitObject | null {
    const rest = (this.#chunks[0] as Buffer).subarray(length);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    this.#needed = 1;
    return object;
  }
}

interface Question {
  readonly requests: readonly ObjectRequest[];
  readonly answers: (GitObject | null)[];
  readonly resolve: (objects: GitObjects) => void;
  readonly reject: (error: Error) => void;
}

export class ObjectReader {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #parser = new ObjectParser();
  readonly #questions: Question[] = [];
  #lastAsked = performance.now();

  /**
   * @param onEnd is called when it answers no more questions
   * @throws {Error} when git cannot be started
   */
  constructor(cwd: string, env: Readonly<Record<string, string>>, onEnd: () => void) {
    // In a group of its own: a signal to the group of the server does not end it.
    this.#process = spawn('git', [...READ_OBJECTS], {
      cwd,
      env: { ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    // Of one that has no room on this system, not even the streams are there; why is told later, to nobody.
    if (this.#process.pid === undefined) {
      this.#process.on('error', () => {});
      throw new Error('git cannot be started');
    }
    this.#process.stdout.on('data', (chunk: Buffer) => {
      this.#parser.add(chunk);
      try {
        this.#answer();
      } catch {
        this.kill();
      }
    });
    const end = (): void => {
      onEnd();
      for (const { reject } of this.#questions.splice(0)) reject(new Error('git ended without an answer'));
    };
    this.#process.on('error', end);
    this.#process.on('close', end);
    this.#process.stdin.on('error', () => {
      // Its end is told by the process.
    });
  }

  isIdleSince(ms: number): boolean {
    return this.#questions.length === 0 && performance.now() - this.#lastAsked >= ms;
  }

  /** @throws {Error} when the process ends before it has answered; why is not known */
  ask(requests: readonly ObjectRequest[]): Promise<GitObjects> {
    const input = inputOf(requests);
    const { promise, resolve, reject } = Promise.withResolvers<GitObjects>();
    this.#lastAsked = performance.now();
    this.#questions.push({ requests, answers: [], resolve, reject });
    this.#process.stdin.write(input);
    return promise;
  }

  /** It ends when it has answered what was asked. */
  close(): void {
    this.#process.stdin.end();
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #answer(): void {
    for (let question = this.#questions[0]; question !== undefined; question = this.#questions[0]) {
      for (
        let next = question.requests[question.answers.length];
        next;
        next = question.requests[question.answers.length]
      ) {
        const object = this.#parser.take(next);
        if (object === undefined) return;
        question.answers.push(object);
      }
      this.#questions.shift();
      question.resolve(question.answers);
    }
  }
}
