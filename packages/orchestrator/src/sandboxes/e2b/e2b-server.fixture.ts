/**
 * A service on this machine that speaks E2B's protocol: the control plane, and inside each machine files and processes (Connect
 * with JSON). A machine is one bubblewrap with a writable file tree of its own, in which `e2b-box.fixture.ts` does what the real
 * service's daemon does: several commands share it, have root and an ordinary user, and live on until somebody ends them.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BoxAnswer, BoxRequest } from './e2b-box.fixture.ts';

export const API_KEY = 'e2b_0123456789abcdef0123456789abcdef01234567';

export interface MachineInfo {
  readonly id: string;
  readonly template: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly internet: boolean;
  readonly network?: CreateBody['network'];
  readonly state: 'running' | 'paused';
  /** When it ends by itself, milliseconds since 1970. */
  readonly endAt: number;
}

export interface E2bServer {
  readonly url: string;
  /** `METHOD path` of each request, without its query. */
  readonly requests: readonly string[];
  machines(): readonly MachineInfo[];
  /** Ends a machine as a crash of its host does: what is asked of it afterwards is answered with 502. */
  lose(id: string): Promise<void>;
  /** Cuts all connections to a machine that are open, in the middle of what they carry. */
  cutStreams(id: string): void;
  /** What goes wrong from now on. */
  readonly faults: {
    /** Seconds of the Retry-After with which new machines are refused. */
    rateLimit?: number;
    /** New machines are answered when it resolves. */
    holdCreate?: Promise<void>;
    refusePause?: boolean;
    /** How many requests to end a machine are refused from now on. */
    refuseEnds?: number;
    /** Files that are sent or asked for are answered when it resolves. */
    holdFiles?: Promise<void>;
    /** Nobody answers. */
    away?: boolean;
    /** The machine in which a command with this text begins is lost; once. */
    loseAt?: string;
    /** Changes what a file is said to hold. */
    onDownload?: (path: string, content: Buffer) => Buffer;
  };
  close(): Promise<void>;
}

const ENVD_VERSION = '0.6.0';
const KEEP_ALIVE_MS = 20_000;

export async function startE2bServer(): Promise<E2bServer> {
  const base = await mkdtemp(join(tmpdir(), 'e2b-'));
  const boxes = new Map<string, Box>();
  const requests: string[] = [];
  const faults: E2bServer['faults'] = {};
  const end = async (box: Box): Promise<void> => {
    boxes.delete(box.id);
    await box.end();
  };

  const create = async (body: CreateBody): Promise<Answer> => {
    await faults.holdCreate;
    if (faults.rateLimit !== undefined) {
      const headers = { 'retry-after': String(faults.rateLimit) };
      return { status: 429, headers, body: { code: 429, message: 'Rate limit exceeded' } };
    }
    if (body.templateID === 'missing') return fault(404, "template 'missing' not found");
    const box = await Box.start(base, body, () => void end(box));
    boxes.set(box.id, box);
    return { status: 201, body: box.info() };
  };

  const controlPlane = async (request: IncomingMessage, url: URL): Promise<Answer> => {
    if (request.headers['x-api-key'] !== API_KEY) return fault(401, 'Invalid API key');
    const [, id, action] = /^(?:\/v\d+)?\/sandboxes(?:\/([^/]+))?(?:\/(\w+))?$/.exec(url.pathname) ?? [];
    const body = await jsonOf(request);
    if (id === undefined) {
      if (request.method === 'POST') return create(body as unknown as CreateBody);
      // The SDK encodes keys and values twice.
      const wanted = [...new URLSearchParams(url.searchParams.get('metadata') ?? '')].map((pair) =>
        pair.map(decodeURIComponent),
      );
      const found = [...boxes.values()].filter((box) =>
        wanted.every(([key = '', value]) => box.metadata[key] === value),
      );
      return { status: 200, body: found.map((box) => box.info()) };
    }
    const box = boxes.get(id);
    if (box === undefined) return fault(404, `sandbox ${id} not found`);
    const timeoutSeconds = Number(body['timeout'] ?? 300);
    switch (`${request.method} ${action ?? ''}`) {
      case 'GET ':
        return { status: 200, body: box.info() };
      case 'DELETE ':
        if (faults.refuseEnds !== undefined && faults.refuseEnds > 0) {
          faults.refuseEnds -= 1;
          return fault(500, 'it cannot be ended right now');
        }
        await end(box);
        return { status: 204 };
      case 'POST timeout':
        box.endIn(timeoutSeconds);
        return { status: 204 };
      case 'POST pause':
        if (faults.refusePause) return fault(403, 'pausing is not part of your plan');
        box.state = 'paused';
        return { status: 204 };
      case 'POST connect':
      case 'POST resume':
        box.state = 'running';
        box.endIn(timeoutSeconds);
        return { status: 200, body: box.info() };
      default:
        return fault(404, 'no such route');
    }
  };

  const inside = async (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    box: Box,
  ): Promise<Answer | null> => {
    if (request.headers['x-access-token'] !== box.token) return fault(401, 'wrong access token');
    box.streams.add(response);
    response.once('close', () => box.streams.delete(response));
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /health':
        return { status: 204 };
      case 'GET /files': {
        await faults.holdFiles;
        const path = url.searchParams.get('path') ?? '';
        const content = await box.read(path);
        response.writeHead(200, { 'content-type': 'application/octet-stream' });
        response.end(faults.onDownload?.(path, content) ?? content);
        return null;
      }
      case 'POST /files':
        await faults.holdFiles;
        return { status: 200, body: await receiveFile(request, url, box) };
      case 'POST /process.Process/Start':
        await startProcess(request, response, box, async (config) => {
          const { loseAt } = faults;
          if (loseAt === undefined || !JSON.stringify(config).includes(loseAt)) return;
          delete faults.loseAt;
          await end(box);
        });
        return null;
      case 'POST /process.Process/List':
        return { status: 200, body: { processes: [...box.processes].map(([pid, config]) => ({ pid, config })) } };
      case 'POST /process.Process/SendSignal': {
        const { process: selected } = (await jsonOf(request)) as { process: { pid: number } };
        return sent(selected.pid, await box.signal(selected.pid, 'SIGKILL'));
      }
      case 'POST /process.Process/SendInput': {
        const { process: selected, input } = (await jsonOf(request)) as {
          process: { pid: number };
          input: { stdin: string };
        };
        return sent(selected.pid, await box.input(selected.pid, input.stdin));
      }
      case 'POST /process.Process/CloseStdin': {
        const { process: selected } = (await jsonOf(request)) as { process: { pid: number } };
        return sent(selected.pid, await box.input(selected.pid, null));
      }
      default:
        return { status: 404, body: { code: 'unimplemented', message: url.pathname } };
    }
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://e2b');
    requests.push(`${request.method} ${url.pathname}`);
    if (faults.away) return void response.destroy();
    const id = request.headers['e2b-sandbox-id'];
    let answer: Answer | null;
    if (id === undefined) answer = await controlPlane(request, url);
    else {
      const box = boxes.get(String(id));
      answer =
        box?.state === 'running'
          ? await inside(request, response, url, box)
          : { status: 502, body: { sandboxId: id, message: 'The sandbox was not found', code: 502 } };
    }
    if (answer === null) return;
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      const isMissing = codeOf(error) === 'ENOENT';
      response.writeHead(isMissing ? 404 : 500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: isMissing ? 404 : 500, message: String(error) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    faults,
    machines: () =>
      [...boxes.values()].map(({ id, template, metadata, internet, network, state, endAt }) => ({
        id,
        template,
        metadata,
        internet,
        network,
        state,
        endAt,
      })),
    async lose(id) {
      const box = boxes.get(id);
      if (box !== undefined) await end(box);
    },
    cutStreams(id) {
      for (const stream of boxes.get(id)?.streams ?? []) stream.destroy();
    },
    async close() {
      await Promise.all([...boxes.values()].map(end));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(base, { recursive: true, force: true });
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface CreateBody {
  readonly templateID: string;
  readonly timeout?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly allow_internet_access?: boolean;
  readonly network?: { readonly allowOut?: readonly string[]; readonly denyOut?: readonly string[] };
}

interface ProcessConfig {
  readonly cmd: string;
  readonly args?: readonly string[];
  readonly envs?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** One machine. */
class Box {
  readonly id = `i${randomUUID().replaceAll('-', '').slice(0, 19)}`;
  readonly token = randomUUID();
  readonly template: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly internet: boolean;
  /** What it was made with; names are not looked for in its traffic: it has the network, or none at all. */
  readonly network: CreateBody['network'];
  readonly processes = new Map<number, ProcessConfig>();
  readonly streams = new Set<ServerResponse>();
  state: 'running' | 'paused' = 'running';
  endAt = 0;
  readonly #folder: string;
  readonly #daemon: ChildProcess;
  readonly #onTimeout: () => void;
  readonly #listeners = new Map<number, (answer: BoxAnswer) => void>();
  #timer: NodeJS.Timeout | undefined;
  #lastId = 0;

  static async start(base: string, body: CreateBody, onTimeout: () => void): Promise<Box> {
    const folder = await mkdtemp(join(base, 'box-'));
    const root = join(folder, 'root');
    await makeRoot(root);
    for (const [name, script] of Object.entries(FALLBACK_MODELS))
      await writeFile(join(folder, name), script, { mode: 0o755 });
    const box = new Box(folder, root, body, onTimeout);
    // One that is ended while it still starts would leave what it was just starting.
    await box.#ask({ op: 'hold', started: 0, held: false });
    return box;
  }

  private constructor(folder: string, root: string, body: CreateBody, onTimeout: () => void) {
    this.template = body.templateID;
    this.metadata = body.metadata ?? {};
    this.internet = reachesOut(body);
    this.network = body.network;
    this.#folder = folder;
    this.#onTimeout = onTimeout;
    this.#daemon = spawn('bwrap', bwrapArguments(folder, root, body), { stdio: ['pipe', 'pipe', 'inherit'] });
    // It may be gone while something is still sent to it.
    this.#daemon.stdin?.on('error', () => {});
    if (this.#daemon.stdout) {
      createInterface({ input: this.#daemon.stdout }).on('line', (line) => {
        const answer = JSON.parse(line) as BoxAnswer;
        this.#listeners.get(answer.id)?.(answer);
      });
    }
    this.endIn(body.timeout ?? 300);
  }

  info(): object {
    return {
      sandboxID: this.id,
      templateID: this.template,
      clientID: 'local',
      envdVersion: ENVD_VERSION,
      envdAccessToken: this.token,
      domain: null,
      metadata: this.metadata,
      startedAt: new Date().toISOString(),
      endAt: new Date(this.endAt).toISOString(),
      state: this.state,
      cpuCount: 2,
      memoryMB: 512,
      diskSizeMB: 1024,
    };
  }

  endIn(seconds: number): void {
    clearTimeout(this.#timer);
    this.endAt = Date.now() + seconds * 1_000;
    this.#timer = setTimeout(this.#onTimeout, seconds * 1_000);
    this.#timer.unref();
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer);
    const closed = new Promise((resolve) => this.#daemon.once('close', resolve));
    this.#daemon.kill('SIGKILL');
    if (this.#daemon.exitCode === null && this.#daemon.signalCode === null) await closed;
    for (const stream of this.streams) stream.destroy();
    // What is read-only in there is so for us too, where we are not root.
    await promisify(execFile)('chmod', ['-R', 'u+rwX', this.#folder]).catch(() => {});
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /** @returns what `hold` takes */
  start(config: ProcessConfig, user: string, stdin: boolean, on: (answer: BoxAnswer) => void): number {
    const { cmd, args = [], envs = {}, cwd = '' } = config;
    let pid: number | undefined;
    const id = this.#send({ op: 'start', cmd, args, envs, cwd, user, stdin }, (answer) => {
      if (answer.kind === 'start') {
        pid = answer.pid;
        this.processes.set(pid, config);
      } else if (answer.kind === 'end' || answer.kind === 'failed') {
        if (pid !== undefined) this.processes.delete(pid);
        this.#listeners.delete(id);
      }
      on(answer);
    });
    return id;
  }

  /** Lets a process wait with its output, or go on. */
  hold(started: number, held: boolean): void {
    void this.#ask({ op: 'hold', started, held });
  }

  async signal(pid: number, signal: NodeJS.Signals): Promise<boolean> {
    return (await this.#ask({ op: 'signal', pid, signal })).exitCode === 0;
  }

  /** @param data base64; `null` closes the input */
  async input(pid: number, data: string | null): Promise<boolean> {
    return (await this.#ask({ op: 'input', pid, data })).exitCode === 0;
  }

  async read(path: string): Promise<Buffer> {
    return (await this.#ask({ op: 'read', path })).content;
  }

  async write(path: string, content: Buffer): Promise<void> {
    await this.#ask({ op: 'write', path, data: content.toString('base64') });
  }

  #ask(request: WithoutId<BoxRequest>): Promise<{ readonly exitCode: number; readonly content: Buffer }> {
    const chunks: Buffer[] = [];
    return new Promise((resolve, reject) => {
      const id = this.#send(request, (answer) => {
        if (answer.kind === 'data') chunks.push(Buffer.from(answer.data, 'base64'));
        if (answer.kind !== 'end' && answer.kind !== 'failed') return;
        this.#listeners.delete(id);
        if (answer.kind === 'end') resolve({ exitCode: answer.exitCode, content: Buffer.concat(chunks) });
        else reject(Object.assign(new Error(answer.message), { code: answer.code }));
      });
    });
  }

  #send(request: WithoutId<BoxRequest>, on: (answer: BoxAnswer) => void): number {
    const id = (this.#lastId += 1);
    this.#listeners.set(id, on);
    this.#daemon.stdin?.write(`${JSON.stringify({ ...request, id })}\n`);
    return id;
  }
}

type WithoutId<Request> = Request extends unknown ? Omit<Request, 'id'> : never;

const IS_ROOT = process.getuid?.() === 0;

/** The file tree of a new machine. */
async function makeRoot(root: string): Promise<void> {
  for (const folder of ['etc', 'home/user', 'opt/node/bin', 'root', 'tmp', 'usr', 'var']) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await chmod(join(root, 'tmp'), 0o1777);
  await chmod(root, 0o755);
  if (IS_ROOT) await chown(join(root, 'home/user'), 1000, 1000);
  const files = {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n',
    'etc/group': 'root:x:0:\nuser:x:1000:\n',
    'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    'etc/profile': 'export PATH=/opt/node/bin:/usr/local/bin:/usr/bin:/bin\n[ ! -e /etc/motd ] || cat /etc/motd\n',
    'etc/motd': 'Welcome to this machine.\n',
  };
  for (const [path, content] of Object.entries(files)) await writeFile(join(root, path), content);
}

function reachesOut({ allow_internet_access: internet, network }: CreateBody): boolean {
  return internet !== false && !(network?.denyOut?.includes('0.0.0.0/0') && (network.allowOut ?? []).length === 0);
}

/** @param body a machine of template `bare` has no setpriv */
function bwrapArguments(folder: string, root: string, body: CreateBody): string[] {
  const links = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'].flatMap((path) => {
    if (!existsSync(path)) return [];
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  });
  const etc = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ssl'];
  const mounts = ['--bind', root, '/', '--ro-bind', '/usr', '/usr', ...links];
  mounts.push(...etc.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]));
  mounts.push('--dev', '/dev', '--proc', '/proc', '--ro-bind', process.execPath, '/opt/node/bin/node');
  mounts.push('--ro-bind', fileURLToPath(new URL('./e2b-box.fixture.ts', import.meta.url)), '/opt/box.fixture.ts');
  const apart = ['--unshare-pid', '--unshare-ipc', '--unshare-uts', ...(reachesOut(body) ? [] : ['--unshare-net'])];
  apart.push(
    '--die-with-parent',
    '--new-session',
    '--hostname',
    'e2b',
    '--chdir',
    '/',
    '--cap-add',
    'ALL',
    '--clearenv',
  );
  apart.push('--setenv', 'BOX_HAS_USERS', IS_ROOT ? '1' : '0', ...(IS_ROOT ? [] : oneUser(folder)));
  if (body.templateID === 'bare') apart.push('--ro-bind', join(root, 'etc/motd'), '/usr/bin/setpriv');
  const daemon = ['/opt/node/bin/node', '--disable-warning=ExperimentalWarning', '/opt/box.fixture.ts'];
  return [...mounts, ...apart, '--', ...daemon];
}

/**
 * Without root a machine's second user is its first in a user namespace of its own: without any right, and owner of what the
 * first one owns.
 */
const FALLBACK_MODELS = {
  setpriv: `#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec unshare --user --map-user=1000 --map-group=1000 "$@"
`,
  chown: '#!/bin/sh\n',
};

function oneUser(folder: string): string[] {
  const mounts = Object.keys(FALLBACK_MODELS).flatMap((name) => ['--ro-bind', join(folder, name), `/usr/bin/${name}`]);
  return ['--unshare-user', '--uid', '0', '--gid', '0', ...mounts];
}

async function startProcess(
  request: IncomingMessage,
  response: ServerResponse,
  box: Box,
  before: (config: ProcessConfig) => Promise<void>,
): Promise<void> {
  const body = (await bytesOf(request)).subarray(5);
  const { process: config, stdin = false } = JSON.parse(body.toString()) as { process: ProcessConfig; stdin?: boolean };
  await before(config);
  if (response.destroyed) return;
  const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const user = Buffer.from(basic, 'base64').toString().split(':')[0] || 'user';
  response.writeHead(200, { 'content-type': 'application/connect+json' });
  let isHeld = false;
  const hold = (held: boolean): void => {
    if (isHeld === held) return;
    isHeld = held;
    box.hold(started, held);
  };
  response.on('drain', () => hold(false));
  response.once('close', () => hold(false));
  const send = (event: object): void => {
    if (!response.write(envelope({ event })) && response.writableLength > 1024 ** 2 && !response.destroyed) hold(true);
  };
  const keepingAlive = setInterval(() => send({ keepalive: {} }), KEEP_ALIVE_MS);
  response.once('close', () => clearInterval(keepingAlive));
  const started = box.start(config, user, stdin, (answer) => {
    switch (answer.kind) {
      case 'start':
        return send({ start: { pid: answer.pid } });
      case 'stdout':
      case 'stderr':
        return send({ data: { [answer.kind]: answer.data } });
      case 'end': {
        const { exitCode, error } = answer;
        const status = error ?? `exit status ${exitCode}`;
        send({ end: { exitCode, exited: error === undefined, status, ...(error === undefined ? {} : { error }) } });
        return void response.end(envelope({}, 2));
      }
      case 'failed':
        return void response.end(envelope({ error: { code: 'internal', message: answer.message } }, 2));
      default:
        return undefined;
    }
  });
}

function sent(pid: number, isTaken: boolean): Answer {
  if (isTaken) return { status: 200, body: {} };
  return { status: 404, body: { code: 'not_found', message: `process with pid ${pid} not found` } };
}

/** A message of a Connect stream: flags, length, JSON. */
function envelope(message: object, flags = 0): Buffer {
  const json = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}

async function receiveFile(request: IncomingMessage, url: URL, box: Box): Promise<object[]> {
  const path = url.searchParams.get('path') ?? '';
  if (request.headers['content-type'] !== 'application/octet-stream')
    throw new Error('only octet streams are taken here');
  await box.write(path, await bytesOf(request));
  return [{ name: path.split('/').at(-1), type: 'file', path }];
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function jsonOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const text = (await bytesOf(request)).toString();
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function fault(code: number, message: string): Answer {
  return { status: code, body: { code, message } };
}
