/** An agent outside of a sandbox, spoken to as an editor speaks to it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  client,
  methods,
  type NewSessionResponse,
  type PromptResponse,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk';
import { agentStream } from '../src/agents/acp/acp-wire.ts';

const PATIENCE_MS = 120_000;

/** Variables of the agent and of the commands beside it, whose files lie in the folder. */
export function environmentOf(folder: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: path.join(folder, 'home'),
    XDG_STATE_HOME: path.join(folder, 'state'),
    TMPDIR: folder,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  };
}

/** A process of the agent with one session. */
export class Session {
  readonly #process: ChildProcess;
  readonly #connection: ClientConnection;
  #id = '';

  static async open(program: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Session> {
    const session = new Session(spawn(program, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'], detached: true }));
    await session.#ask(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
    const opened = await session.#ask<NewSessionResponse>(methods.agent.session.new, { cwd, mcpServers: [] });
    session.#id = opened.sessionId;
    return session;
  }

  private constructor(started: ChildProcess) {
    this.#process = started;
    const { stdin, stdout } = started;
    assert.ok(stdin !== null && stdout !== null);
    const streams = { stdin: Writable.toWeb(stdin), stdout: Readable.toWeb(stdout) };
    this.#connection = client({ name: 'e2e' }).connect(
      agentStream(streams, { onUpdate: () => {}, onMalformedLine: () => {} }),
    );
  }

  async prompt(text: string): Promise<void> {
    const params = { sessionId: this.#id, prompt: [{ type: 'text', text }] };
    const { stopReason } = await this.#ask<PromptResponse>(methods.agent.session.prompt, params);
    assert.equal(stopReason, 'end_turn');
  }

  /** Ends the agent with all that it started. */
  async end(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#connection.close();
    process.kill(-pid, 'SIGKILL');
    await ended;
  }

  async #ask<Answer>(method: string, params: object): Promise<Answer> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`waited in vain for ${method}`)), PATIENCE_MS);
    try {
      return await Promise.race([this.#connection.agent.request<Answer>(method, params), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
