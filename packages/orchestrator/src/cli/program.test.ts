import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { connect } from './connection.ts';
import type { CliIo } from './io.ts';
import { type Finished, makePlace, type Place, type ServerProcess } from './program.fixture.ts';
import { runCli } from './program.ts';
import { workflows } from '../workflows/index.ts';

/** A whole run takes some seconds, on a busy machine minutes. */
const WHOLE_RUN = { timeout: 240_000 };
const REQUEST = 'Create login flow with OAuth';

let place: Place;
let server: ServerProcess;

beforeAll(async () => {
  place = makePlace();
  server = await place.serve();
});
afterAll(() => place.remove());

/** A command of a person who stands in the project. */
const command = (...args: readonly string[]): Promise<Finished> =>
  place.command(args, { AUTONOMOUS_SERVER: server.url }, place.clone);

describe('the command line', () => {
  it.each([
    [[], 'Usage: autonomous COMMAND'],
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['run'], 'The request is empty'],
    [['run', ' '], 'The request is empty'],
    [['run', 'x', '--planning', 'perhaps'], 'Allowed choices are auto, manual'],
    [['run', 'x', '--model', 'cook='], 'Write ROLE=MODEL'],
    [['run', 'x', '--trust', 'planning=perhaps'], 'Write MODE=manual or MODE=auto'],
    [['run', 'x', '--config', 'nowhere.json'], 'nowhere.json. Name one that exists'],
    [['run', 'x', '--server', 'ftp://x'], "--server is 'ftp://x'"],
    [['reject', 'r-1'], "required option '--feedback <text>' not specified"],
    [['take', 'r-1', 'a.ts'], "required option '--from <run>' not specified"],
    [['answer', 'r-1'], 'There is no answer'],
    [['message', 'r-1'], "missing required argument 'text'"],
    [['message', 'r-1', ' '], 'There is no message'],
    [['extend', 'r-1'], 'The minutes are missing; give them after the run'],
    [['extend', 'r-1', 'soon'], "'soon' is not a number of minutes"],
    [['extend', 'r-1', '5', '--max-tokens', '9'], 'Give minutes or budgets, not both'],
    [['extend', 'r-1', '--max-cost-usd', '-1'], "'-1' is not a valid maxCostUsd"],
    [['list', '--limit', '0'], 'A whole number from 1 to 200'],
  ])('refuses %j with 64 and a reason', async (args, reason) => {
    const said = { stdout: '', stderr: '' };
    const into = (name: keyof typeof said) =>
      new Writable({ decodeStrings: false, write: (text, _, done) => done(((said[name] += String(text)), null)) });
    const io: CliIo = { ...aTerminal().io, stdout: into('stdout'), stderr: into('stderr') };
    expect(await runCli(args, io)).toBe(64);
    expect(said).toEqual({ stdout: '', stderr: expect.stringContaining(reason) });
    expect(said.stderr).not.toMatch(/\n\s+at /);
  });

  it('ends the program with its exit code', async () => {
    expect(await command('frobnicate')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringMatching(/unknown command[^]*\nHelp: autonomous --help\n/),
    });
    expect((await command('plan', 'run', '--dry')).stderr).toMatch(/\nHelp: autonomous plan run --help\n$/);
  });

  it('names every fault of a configuration file', async () => {
    const file = join(place.folder, 'faulty.json');
    writeFileSync(file, JSON.stringify({ maxFixAttempts: -1, git: { automerge: true } }));
    const { exitCode, stderr } = await command('run', 'x', '--config', file);
    expect(exitCode).toBe(64);
    expect(stderr).toMatch(/maxFixAttempts: .*\n {2}git: .*automerge/);
  });

  it('gives help and version with 0', async () => {
    expect(await command('--help')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('approve') });
    expect(await command('run', '--help')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('--auto-merge'),
    });
    expect(await command('--version')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it('says how to start a server where none answers', async () => {
    const { exitCode, stderr } = await place.command(['list', '--server', 'http://127.0.0.1:1'], {
      AUTONOMOUS_DATA: '/nowhere',
      AUTONOMOUS_TOKEN: 'a-token-of-another-one',
      AUTONOMOUS_SERVR: 'http://127.0.0.1:2',
    });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `No Autonomous server answers at http://127.0.0.1:1.
Start it with: npm start
The variable AUTONOMOUS_SERVR is set, and Autonomous has none of this name: it is not used. Was AUTONOMOUS_SERVER meant?
`,
    });
  });

  it('says what is wrong with the token', async () => {
    const refused = await place.command(['list', '--server', server.url], { AUTONOMOUS_TOKEN: 'not-the-token-of-it' });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('The server refuses the token.\n') });
    const none = await place.command(['list', '--server', server.url], { AUTONOMOUS_DATA: '/nowhere' });
    expect(none).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`The server at ${server.url} is not that of the data folder /nowhere`),
    });
  });

  it("shows this machine's token to no other server", async () => {
    const io = { env: place.env } as unknown as CliIo;
    await expect(connect(io, 'http://example.org:3001')).rejects.toThrow(
      'AUTONOMOUS_TOKEN is not set; http://example.org:3001',
    );
    await expect(connect(io, 'http://127.0.0.1.example.org')).rejects.toThrow('AUTONOMOUS_TOKEN is not set');
  });

  it('takes nothing from the .env file of a project, and from that of the clone not the server that gets the token', async () => {
    writeFileSync(
      join(place.folder, '.env'),
      'AUTONOMOUS_TOKEN=the-token-of-another-server-than-this\nAUTONOMOUS_SERVER=http://127.0.0.1:1\n',
    );
    expect(await place.command(['gates'])).toMatchObject({ exitCode: 0, stderr: 'Nothing waits for a person.\n' });
    const inClone = await place.command(['gates'], { AUTONOMOUS_CWD: place.clone });
    expect(inClone.stderr).toContain('The server refuses the token.\n');
  });

  it('gives a link that signs a browser in, once', async () => {
    const { stdout } = await place.command(['sign-in']);
    const signsIn = async (method = 'GET') =>
      (await fetch(stdout.trim(), { method, redirect: 'manual' })).headers.has('set-cookie');
    expect([await signsIn('HEAD'), await signsIn(), await signsIn()]).toEqual([false, true, false]);
  });

  it('signs every browser out', async () => {
    const link = (await place.command(['sign-in'])).stdout.trim();
    const Cookie = (await fetch(link, { redirect: 'manual' })).headers.get('set-cookie')?.split(';', 1)[0] ?? '';
    const me = async () => (await fetch(`${server.url}/api/me`, { headers: { Cookie } })).status;
    expect(await me()).toBe(200);
    expect(await place.command(['sign-out'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/browsers? (?:was|were) signed out\.\n$/),
    });
    expect(await me()).toBe(401);
  });

  it('refuses what the server does not know in its words', async () => {
    for (const reading of ['watch', 'show', 'approve'])
      expect(await command(reading, 'r-404')).toMatchObject({
        exitCode: 1,
        stderr: "There is no run 'r-404'.\nThe runs are listed by: autonomous list\n",
      });
    const names = workflows.map(({ name }) => name).filter((name) => name !== 'build');
    const others = names
      .toSorted()
      .map((name) => `'${name}'`)
      .join(', ');
    expect(await command('run', 'x', '--workflow', 'dance')).toMatchObject({
      exitCode: 1,
      stderr: `There is no workflow 'dance'; name one of 'build', ${others} with --workflow.\n`,
    });
    expect(await command('run', 'x', '--model', 'cook=x')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('cook'),
    });
  });

  it('tells a run something, until it has ended', async () => {
    const started = await command('run', REQUEST, '--detach');
    const [id = ''] = started.stdout.split('\n', 1);
    expect(await command('message', id, 'Mind', 'the', 'gap')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^sent; the run is /),
    });
    expect((await command('history', id)).stdout).toContain('local says: Mind the gap');
    await command('cancel', id);
    expect(await command('message', id, 'Too late')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('has already ended'),
    });
  });

  it('cancels a run that waits', async () => {
    const started = await command('run', REQUEST, '--detach');
    const [id = ''] = started.stdout.split('\n');
    expect(await command('cancel', id, '--reason', 'changed my mind')).toMatchObject({
      exitCode: 0,
      stdout: 'cancelled\n',
    });
    const watched = await command('watch', id);
    expect(watched).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('✗ cancelled by local: changed my mind'),
    });
    expect(await command('cancel', id)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('has already ended'),
    });
  });
});

describe('a script that drives a run', () => {
  it('gets its turn at each gate, decides it, and is told the end', WHOLE_RUN, async () => {
    const config = join(place.folder, 'run.json');
    writeFileSync(config, JSON.stringify({ trustMode: { planning: 'auto', implementation: 'manual' } }));
    const started = await command(
      'run',
      ...REQUEST.split(' '),
      '--config',
      config,
      '--planning',
      'manual',
      '--auto-merge',
    );
    expect(started.exitCode).toBe(1);
    expect(started.stdout).toMatch(/^run (\S+) on notes \(.*notes\.git\)$/m);
    expect(started.stdout).toContain("● plan gate: Review the plan 'Login flow with OAuth'");
    const id = /^run (\S+)/.exec(started.stdout)?.[1] ?? '';
    expect(started.stdout).toMatch(
      new RegExp(`autonomous approve ${id} --gate ${id}\\.\\d+ --hash \\w{64}:\\w{40}:\\w{64}\\n`),
    );

    expect((await command('show', id, '--plan')).stdout).toMatch(/^\(scripted\)[^]*```mermaid/);
    expect(await command('gates')).toMatchObject({ stdout: expect.stringContaining(`${id}  plan `) });
    const early = await command('answer', id, 'Google');
    expect([early.exitCode, early.stderr]).toEqual([
      1,
      expect.stringContaining('waits for another decision (approve, reject, ask)'),
    ]);
    const asked = await command('ask', id, 'Why in memory?');
    expect([asked.exitCode, asked.stdout]).toEqual([
      0,
      expect.stringContaining('· reply (scripted): The state is kept in memory'),
    ]);
    expect(asked.stdout).not.toContain('━━ planning');
    const approved = await command('approve', id, '--notes', 'go on', ...(await shownNow(id)));
    expect(approved.stdout).toMatch(
      /^approve: Review the plan 'Login flow with OAuth' \(hash \w{10}, code \w{10}, concerns \w{10}\)$/m,
    );

    const question = await command('watch', id);
    expect(question).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('● question (scripted): Which OAuth'),
    });
    expect(await command('answer', id, '7')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining("1 'Google and GitHub'"),
    });
    expect(await command('answer', id, '1')).toMatchObject({ exitCode: 0 });

    const result = await command('watch', id, '--json');
    expect(result.exitCode).toBe(1);
    const events = result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as WorkflowEvent);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ type: 'APPROVAL_REQUESTED', payload: { gate: 'implementation' } });
    expect((await command('show', id, '--diff')).stdout).toContain('+++ b/src/login.js');
    expect((await command('show', id)).stdout).toMatch(
      /evidence +base tests: passed, `npm test` exit code 0, 3 tests ran \(node:test\); on the base commit it was 3, sandbox bubblewrap/,
    );
    expect((await command('approve', id, ...(await shownNow(id)))).exitCode).toBe(0);

    const end = await command('watch');
    expect(end.exitCode).toBe(0);
    expect(end.stdout).toMatch(/✗ checks failed on the result as it is\n +\$ npm test → exit code 1, .* in bubblewrap/);
    expect(end.stdout).toContain('· fix attempt 1');
    const merged = /✓ merged into main \(squash\): commit (\w+)/.exec(end.stdout)?.[1] ?? '';
    expect(place.git('-C', place.remote, 'rev-parse', 'main')).toMatch(new RegExp(`^${merged}`));
    const { items } = { items: (await command('list', '--json', '--status', 'completed')).stdout.trim().split('\n') };
    expect(items.map((line) => (JSON.parse(line) as RunView).id)).toContain(id);

    /** The options that `show` prints for the gate that is open. */
    async function shownNow(runId: string): Promise<readonly string[]> {
      return (/^decide +(.*)$/m.exec((await command('show', runId)).stdout)?.[1] ?? '').split(' ');
    }
  });
});

describe('a person at a terminal', () => {
  /** Of their own, since other runs change theirs. */
  let project: Place;
  beforeAll(() => {
    project = makePlace();
  });
  afterAll(() => project.remove());

  it('is asked at each gate, and not again when somebody else was faster', WHOLE_RUN, async () => {
    const terminal = aTerminal();
    const ended = runCli(['run', REQUEST, '--project', project.clone, '--server', server.url], terminal.io);
    await terminal.reply('approve (a) · reject (r) · ask (q) · show (s) · cancel (c) · leave (l) > ', 's');
    await terminal.heard('# Login flow with OAuth');
    await terminal.reply('leave (l) > ', 'dance');
    await terminal.heard("'dance' is not one of these.");
    await terminal.reply('leave (l) > ', 'r');
    await terminal.reply('what should be different > ', '');
    await terminal.reply('leave (l) > ', 'a');
    await terminal.reply('number or text (or :ignore, :cancel, :leave) > ', '9');
    await terminal.heard("'9' is not an option of the question");
    await terminal.heard(':leave) > ');
    const id = /^run (\S+)/m.exec(terminal.all())?.[1] ?? '';
    const client = createClient({ baseUrl: server.url, token: readFileSync(join(place.data, 'token'), 'utf8').trim() });
    await client.decideOpenGate(id, { decision: 'answer', response: 'Google and GitHub' });
    expect(await ended).toBe(0);
    expect(terminal.all()).toMatch(/✓ answered by local: Google and GitHub[^]*✓ completed: Branch autonomous\//);
    const [, result = 'none'] = /^(The result is a branch\.[^]*)$/m.exec(terminal.all()) ?? [];
    expect(result).toContain(`in a clone of ${project.remote}:\n  git fetch origin\n`);
    expect((await command('show', id)).stdout).toContain(result);
  });

  it('may leave the run to itself, with a word how to come back', async () => {
    const terminal = aTerminal();
    const ended = runCli(['run', REQUEST, '--project', project.clone, '--server', server.url], terminal.io);
    await terminal.reply('leave (l) > ', 'l');
    expect(await ended).toBe(1);
    const id = /^run (\S+)/m.exec(terminal.all())?.[1] ?? '';
    expect(terminal.all()).toMatch(
      new RegExp(
        `Run ${id} waits for a decision; [^\\n]*Follow it with: autonomous watch ${id}\\n[^]*  autonomous reject ${id} `,
      ),
    );
  });
});

describe('a gate that is decided by a command of its own', () => {
  let project: Place;
  let client: Client;
  beforeAll(async () => {
    project = makePlace();
    client = createClient({ baseUrl: server.url, token: readFileSync(join(place.data, 'token'), 'utf8').trim() });
  });
  afterAll(() => project.remove());

  /** Starts a run and waits for its plan. @returns its id and the options that name its gate and what that shows */
  async function atPlanGate(): Promise<{ readonly id: string; readonly line: string }> {
    const script = aTerminal(false);
    await runCli(
      ['run', REQUEST, '--planning', 'manual', '--project', project.clone, '--server', server.url],
      script.io,
    );
    const id = /^run (\S+)/.exec(script.all())?.[1] ?? '';
    const line = new RegExp(`autonomous approve ${id} (--gate ${id}\\.\\d+ --hash \\w{64}:\\w{40}:\\w{64})\n`).exec(
      script.all(),
    )?.[1];
    return { id, line: line ?? '' };
  }
  async function said(...args: readonly string[]): Promise<readonly [number, string]> {
    const script = aTerminal(false);
    const exitCode = await runCli([...args, '--server', server.url], script.io);
    return [exitCode, script.all()];
  }

  it('takes no approval without a terminal but with what show and gates print', WHOLE_RUN, async () => {
    const { id, line } = await atPlanGate();
    expect(line).not.toBe('');
    expect((await said('gates'))[1]).toMatch(
      new RegExp(`${id}  plan [^\\n]*\\n    What the run adds [^]*\\n    - [^\\n]*\\n    ${line}\\n`),
    );
    expect((await said('show', id))[1]).toContain(`decide     ${line}\n`);
    // Nobody has seen what it would approve.
    expect(await said('approve', id)).toEqual([1, expect.stringContaining(`autonomous approve ${id} ${line}\n`)]);
    const [, gateId = '', , word = ''] = line.split(' ');
    expect(await said('approve', id, '--gate', gateId)).toEqual([1, expect.stringContaining(line)]);
    expect(await said('approve', id, '--hash', word)).toEqual([64, expect.stringContaining('--hash goes with --gate')]);
    const other = ['--gate', gateId, '--hash', `0000${word.slice(4)}`];
    expect(await said('approve', id, ...other)).toEqual([1, expect.stringContaining('changed since it was shown')]);

    await client.decideGate(gateId, { decision: 'ask', question: 'Why in memory?' });
    await expect.poll(async () => (await client.getRun(id)).gate?.id ?? gateId).not.toBe(gateId);
    const old = [1, expect.stringMatching(`Gate ${gateId} is not open any more: it was decided or changed`)];
    expect(await said('approve', id, ...line.split(' '))).toEqual(old);
    expect(await said('reject', id, '--gate', gateId, '--feedback', 'No.')).toEqual(old);
    const now = /^decide +(.*)$/m.exec((await said('show', id))[1])?.[1] ?? '';
    expect(await said('approve', id, ...now.split(' '))).toEqual([
      0,
      expect.stringContaining('approve: Review the plan'),
    ]);
    await client.cancelRun(id);
  });

  it('is shown at a terminal, which asks and decides nothing without a yes', WHOLE_RUN, async () => {
    const { id } = await atPlanGate();
    for (const [given, exitCode, answer] of [
      ['no', 1, 'Nothing was decided.'],
      ['yes', 0, 'the run is running'],
    ] as const) {
      const terminal = aTerminal();
      const ended = runCli(['approve', id, '--server', server.url], terminal.io);
      await terminal.heard('# Login flow with OAuth');
      await terminal.heard("approve: Review the plan 'Login flow with OAuth' (hash ");
      await terminal.reply('approve this? (yes or no) > ', given);
      expect(await ended).toBe(exitCode);
      expect(terminal.all()).toContain(answer);
    }
    await client.cancelRun(id);
  });
});

/** Streams that say they are a terminal, or are none; what is typed waits for the words that ask for it. */
function aTerminal(isTTY = true) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  let text = '';
  let seen = 0;
  stdout.on('data', (chunk) => (text += String(chunk)));
  onTestFailed(() => void process.stderr.write(text));
  const heard = async (words: string): Promise<void> => {
    for (;;) {
      const at = text.indexOf(words, seen);
      if (at >= 0) {
        seen = at + words.length;
        return;
      }
      await new Promise((resolve) => stdout.once('data', resolve));
    }
  };
  const io: CliIo = {
    stdin,
    stdout,
    stderr: stdout,
    env: { ...place.env, NO_COLOR: '1' },
    cwd: place.clone,
    program: 'autonomous',
  };
  return {
    io,
    heard,
    all: () => text,
    reply: async (prompt: string, line: string) => {
      await heard(prompt);
      stdin.write(`${line}\n`);
    },
  };
}
