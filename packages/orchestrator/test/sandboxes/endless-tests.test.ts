/** Test commands that do not come to an end by themselves, on a real server with real sandboxes. */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { aServer, FILES, projectConfig } from '../fixtures/orchestrator.fixture.ts';

const TRUSTED = { trustMode: { planning: 'auto' as const, fixes: 'auto' as const } };

const testedBy = (test: string) => ({
  ...FILES,
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test } } }),
});

/** A shell command that goes on for ever, and can be told from others by its mark. */
const serving = (mark: string): string => `sh -c 'while :; do echo serving; sleep 1; done # ${mark}'`;

/** Processes of this machine, those in sandboxes among them, that were started with the mark as a part of their command. */
function processesOf(mark: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      return words[0] === 'sh' && words[2]?.endsWith(`# ${mark}`) === true;
    } catch {
      return false;
    }
  });
}

describe('a test command', () => {
  it('that never ends is ended at the time limit of its stage, and the pause names it and the ways on', async () => {
    const mark = randomUUID();
    const command = `if [ -f feature.sh ]; then ${serving(mark)}; fi; sh test/app.test.sh`;
    const server = await aServer({ files: testedBy(command) });
    const run = await server.launch('Add the feature', { ...TRUSTED, timeoutMinutes: { validation: 0.4 } });
    await vi.waitFor(() => expect(processesOf(mark)).toHaveLength(1), { timeout: 120_000, interval: 20 });
    const { gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'timeout', stage: 'validation', decisions: ['retry', 'extend'] });
    for (const words of [
      'The stage validation took longer than 0.4 minutes',
      mark,
      'its last line: serving',
      'Extend the stage for this run, or set defaultRunConfig.timeoutMinutes.validation',
    ])
      expect(gate?.summary).toContain(words);
    await vi.waitFor(() => expect(processesOf(mark)).toEqual([]), { timeout: 120_000 });
    expect(await server.payloads(run.id, 'EVIDENCE_RECORDED')).toEqual([]);
  });

  it('that leaves a server in the background ends with its own exit code, and nothing of the server stays', async () => {
    const mark = randomUUID();
    const server = await aServer({ files: testedBy(`${serving(mark)} & sh test/app.test.sh`) });
    const run = await server.launch('Add the feature', TRUSTED);
    await server.until(run, { status: 'completed' });
    const [asIs] = await server.payloads(run.id, 'EVIDENCE_RECORDED');
    expect(asIs).toMatchObject({ mode: 'as_is', passed: true, tests: { executed: 1, failed: 0, finished: true } });
    expect(processesOf(mark)).toEqual([]);
  });
});
