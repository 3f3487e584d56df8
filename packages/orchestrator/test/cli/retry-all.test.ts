/** `retry --all` against a real server: every paused run, at the gate that was shown. */
import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { aScript, aServer, type Fixture } from '../fixtures/orchestrator.fixture.ts';

async function command(server: Fixture, ...args: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    });
  const exitCode = await runCli([...args, '--server', server.orchestrator.server.url], {
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: { AUTONOMOUS_TOKEN: server.orchestrator.token },
    cwd: server.folder,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}

describe('retry --all', () => {
  it('retries the paused runs of a reason, names each, and leaves the others alone', async () => {
    const server = await aServer({ script: aScript({ planner: [] }) });
    const runs = [await server.launch('One'), await server.launch('Two')];
    for (const run of runs) await server.until(run, { gate: 'pause' });

    expect(await command(server, 'retry', '--all', '--reason', 'model_unavailable')).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('No run is paused with reason model_unavailable.'),
    });
    const { exitCode, stdout } = await command(server, 'retry', '--all', '--reason', 'agent_failed');
    expect(exitCode).toBe(0);
    for (const { id } of runs) expect(stdout).toContain(`${id}  agent_failed  retried`);
    expect(stdout).toContain('2 retried, 0 not');
    for (const { id } of runs) expect(await server.payloads(id, 'RETRY_REQUESTED')).toHaveLength(1);
  });

  it('passes over a gate that was decided meanwhile, and says so', async () => {
    const server = await aServer({ script: aScript({ planner: [] }) });
    const run = await server.launch('One');
    const { gate } = await server.until(run, { gate: 'pause' });
    const gateId = gate?.id ?? '';
    await server.decide(run, { decision: 'retry' });
    expect(await server.client.retryGates([gateId, 'nothing.1'])).toMatchObject([
      { gateId, retried: false, detail: expect.stringContaining('already decided') },
      { gateId: 'nothing.1', retried: false, detail: expect.stringContaining('no run') },
    ]);
  });

  it('refuses what it cannot mean', async () => {
    const server = await aServer();
    expect(await command(server, 'retry', '--all', '--reason', 'boredom')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining("'boredom' is not a pause reason. The reasons are timeout"),
    });
    expect(await command(server, 'retry')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('Name the run to retry, or give --all'),
    });
    expect(await command(server, 'retry', 'r-1', '--all')).toMatchObject({ exitCode: 64 });
  });
});
