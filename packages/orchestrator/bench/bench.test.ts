import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBench } from './bench.ts';
import { run } from './sandboxes.bench.ts';

const FIXTURES = path.join(import.meta.dirname, 'fixtures');

describe('the bench runner', () => {
  it('prints a table and, as its last line, the figures with the machine they come from', async () => {
    const { exitCode, out } = await bench('tiny', '--size', '3');
    expect(exitCode).toBe(0);
    expect(out.slice(0, -1)).toEqual(['case        ms', '----------  ---', 'first       1.5', 'the second   20']);
    expect(JSON.parse(out.at(-1) ?? '')).toEqual({
      bench: 'tiny',
      machine: {
        cpu: expect.any(String),
        cores: expect.any(Number),
        memoryGiB: expect.any(Number),
        node: process.version,
        platform: `${process.platform}-${process.arch}`,
      },
      figures: { options: 2, slowestMs: 20 },
    });
  });

  it('lists the benches when none is named', async () => {
    const { exitCode, out, err } = await bench();
    expect(exitCode).toBe(0);
    expect(out.at(-1)).toBe('tiny  nothing at all, quickly');
    expect(err).toEqual([]);
  });

  it('lists the benches on stderr and answers 64 for a name that it does not know', async () => {
    const { exitCode, out, err } = await bench('huge');
    expect(exitCode).toBe(64);
    expect(out).toEqual([]);
    expect(err[0]).toBe("There is no bench 'huge'.");
    expect(err.at(-1)).toBe('tiny  nothing at all, quickly');
  });

  it('prints notes between table and figures, in which null is what could not be measured', async () => {
    const { out } = await bench('tiny', '--note', 'a peer is missing');
    expect(out.at(-2)).toBe('a peer is missing');
    expect(JSON.parse(out.at(-1) ?? '').figures).toEqual({ options: 2, slowestMs: 20, peer: { slowestMs: null } });
  });

  it('says on stderr what is wrong with the options and answers 64', async () => {
    const { exitCode, out, err } = await bench('tiny', '--huge');
    expect({ exitCode, out, err }).toEqual({ exitCode: 64, out: [], err: ["'--huge' is not tiny."] });
  });

  it('is what the command runs', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [path.join(import.meta.dirname, 'main.ts'), 'no-such-bench'],
      {
        encoding: 'utf8',
      },
    );
    expect(status).toBe(64);
    expect(stderr).toContain("There is no bench 'no-such-bench'.");
  });
});

describe('the benches', () => {
  it.each([
    ['scale', '--events', '120', '--runs', '20', '--openings', '1'],
    ['rebuild', '--runs', '3'],
    ['merges', '--runs', '2'],
    ['research', '--rounds', '6', '--researchers', '1', '--findings', '1'],
    ['peers', '--only', 'autonomous,raw', '--repeat', '1', '--runs', '20', '--seconds', '1', '--parts', 'throughput'],
  ])('%s measures this engine, in little', (...args) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [path.join(import.meta.dirname, 'main.ts'), ...args],
      {
        encoding: 'utf8',
      },
    );
    expect(status, stderr).toBe(0);
    const { figures } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    if (args[0] === 'scale') expect(figures).toMatchObject({ events: 120, poisonedParked: 1 });
    else if (args[0] === 'rebuild')
      expect(figures).toMatchObject({ runs: 3, rebuildS: expect.any(Number), rebuild1000S: null });
    else if (args[0] === 'merges') expect(figures).toMatchObject({ runs: 2, timesAsLong: expect.any(Number) });
    else if (args[0] === 'research')
      expect(figures).toMatchObject({ rounds: 6, promptBytes6: expect.any(Number), promptGrowth6: expect.any(Number) });
    else expect(figures).toMatchObject({ vsRaw1: expect.any(Number), vsRaw50: expect.any(Number) });
  });
});

it('sandboxes measures each beside a bare spawn, in little', async () => {
  const { figures } = await run(['--samples', '1']);
  expect(figures).toMatchObject({ bareSpawnP50Ms: expect.any(Number) });
  // What cannot run here is named and has no figure.
  expect(Object.keys(figures)).toContain('bubblewrapStartOverBareP50Ms');
  await expect(run(['--samples', '0'])).rejects.toThrow('--samples N');
});

async function bench(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await runBench(
    args,
    FIXTURES,
    (line) => out.push(line),
    (line) => err.push(line),
  );
  return { exitCode, out, err };
}

it('agents measures our loop beside the bare SDK, in little', async () => {
  const main = path.join(import.meta.dirname, 'main.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'agents', '--rounds', '2'], {
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  const { figures } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(figures).toMatchObject({ modelCallOverheadP50Ms: expect.any(Number) });
});

it('feed measures a screen, a list and cut connections, in little', () => {
  const main = path.join(import.meta.dirname, 'main.ts');
  const little = ['--runs', '6', '--clients', '3', '--seconds', '2', '--list', '40', '--visits', '1', '--cuts', '30'];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [main, 'feed', '--parts', 'screen,list,cuts', ...little],
    { encoding: 'utf8' },
  );
  expect(status, stderr).toBe(0);
  const { figures } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(figures).toMatchObject({ cuts: 30, missed: 0, doubled: 0, disordered: 0 });
  expect(figures.events).toBeGreaterThan(0);
  // Where there is no browser, it is said, and these have no figure.
  const measured = stdout.includes('Without Chromium') ? null : expect.any(Number);
  expect(figures).toMatchObject({ eventToScreenP95Ms: measured, list5000Ms: measured });
});
