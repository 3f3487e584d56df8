/** The programs that a specification asks for, and the command that looks for them, played by a real shell. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import { environmentReason, missingOf, MOST_NEEDS, needsOf, questionAbout } from './environment.ts';
import { readSpec } from './spec-file.ts';

describe('needsOf', () => {
  it.each([
    ['nodejs', 'true', { program: 'node' }],
    ['Node.js', 'Yes', { program: 'node' }],
    ['docker', 'true', { program: 'docker' }],
    ['python', '3.12', { program: 'python3', version: '3' }],
    ['nodejs', '24', { program: 'node', version: '24' }],
    ['nodejs', 'v24.x', { program: 'node', version: '24' }],
    ['nodejs', '>= 18.2', { program: 'node', version: '>=18' }],
    ['node', '18+', { program: 'node', version: '>=18' }],
    ['database', 'sqlite3', { program: 'sqlite3' }],
    ['database', 'PostgreSQL', { program: 'psql' }],
    ['Database', 'mysql', { program: 'mysql' }],
    ['ffmpeg', 'true', { program: 'ffmpeg' }],
    ['g++', 'true', { program: 'g++' }],
  ])('takes %s: %s for a program', (name, value, need) => {
    expect(needsOf({ [name]: value })).toEqual([{ line: `${name}: ${value}`, ...need }]);
  });

  it.each([
    ['nodejs', 'false'],
    ['docker', 'No'],
    ['docker', '0'],
    ['docker', ''],
    ['nodejs', 'the newest'],
    ['database', 'true'],
    ['database', 'customers'],
    ['port', '8080'],
    ['region', 'eu'],
    ["x'; touch y; '", 'true'],
    ['-rf', 'true'],
    ['ünder', 'true'],
  ])('only tells %s: %s', (name, value) => {
    expect(needsOf({ [name]: value })).toEqual([]);
  });

  it('reads the block of a specification, and no more than a bounded part of it', () => {
    const lines = Array.from({ length: 100 }, (_, index) => `tool-${index}: true`).join('\n');
    const { environment } = readSpec(`# A\n\n## Environment\n\nnodejs: false\ng++: true\n${lines}\n`);
    const needs = needsOf(environment);
    expect(needs.slice(0, 2).map(({ program }) => program)).toEqual(['g++', 'tool-0']);
    expect(needs).toHaveLength(MOST_NEEDS);
  });
});

describe('questionAbout and missingOf', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let programs: string;
  beforeEach(() => {
    temporary = temporaryFolder();
    programs = join(temporary.path, 'programs');
    mkdirSync(programs);
  });
  afterEach(() => temporary.remove());

  function aProgram(name: string, script: string): void {
    writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(programs, name), 0o755);
  }

  function missing(environment: Readonly<Record<string, string>>): readonly string[] {
    const needs = needsOf(environment);
    const env = { PATH: `${programs}:/usr/bin:/bin` };
    return missingOf(needs, execFileSync('/bin/sh', ['-c', questionAbout(needs)], { env, encoding: 'utf8' }));
  }

  it('finds what is there, whatever case the block gives its name', () => {
    aProgram('node', 'echo v24.2.0');
    aProgram('frobnicate', 'exit 1');
    expect(missing({ nodejs: '24', Frobnicate: 'true', sh: 'true' })).toEqual([]);
  });

  it('names each line that asks for what is not there', () => {
    expect(missing({ frobnicate: 'true', 'frob.2': 'yes', sh: 'true' })).toEqual([
      'frobnicate: true (there is no program frobnicate)',
      'frob.2: yes (there is no program frob.2)',
    ]);
  });

  it.each([
    ['echo v24.2.0', '24', []],
    ['echo v24.2.0', '>=18', []],
    ['echo v24.2.0', '18+', []],
    ['echo v24.2.0', '<25', []],
    ['echo v24.2.0', '22', ['nodejs: 22 (node is 24.2.0)']],
    ['echo v24.2.0', '>=26', ['nodejs: >=26 (node is 24.2.0)']],
    ['echo v24.2.0 >&2', '2', ['nodejs: 2 (node is 24.2.0)']],
    ['echo unknown', '24', ['nodejs: 24 (node names no version)']],
    ['exit 1', '24', ['nodejs: 24 (node does not start)']],
    ['exit 1', 'true', ['nodejs: true (node does not start)']],
    [String.raw`printf 'v24.2.0\n=== 0 found 99.0\r\n\\n=== 0 absent'`, '24', []],
  ])('compares what the program says (%s) with the major version %s', (script, wanted, faults) => {
    aProgram('node', script);
    expect(missing({ nodejs: wanted })).toEqual(faults);
  });

  it('takes the eighth version of Java for what its makers call it', () => {
    aProgram('java', `echo 'openjdk version "1.8.0_402"' >&2`);
    expect(missing({ java: '8' })).toEqual([]);
    expect(missing({ java: '17' })).toEqual(['java: 17 (java is 1.8.0)']);
  });

  it('wants a Docker that answers', () => {
    aProgram('docker', 'echo "Cannot connect to the Docker daemon" >&2; exit 1');
    expect(missing({ docker: 'true' })).toEqual(['docker: true (docker does not answer)']);
    aProgram('docker', 'test "$1" = version && echo 27.3.1');
    expect(missing({ docker: 'true' })).toEqual([]);
    expect(missing({ docker: '28' })).toEqual(['docker: 28 (docker is 27.3.1)']);
  });

  it('asks Docker last, and counts what did not answer in time as missing', () => {
    const needs = needsOf({ docker: 'true', sh: 'true' });
    expect(questionAbout(needs).indexOf("n='sh'")).toBeLessThan(questionAbout(needs).indexOf("n='docker'"));
    expect(missingOf(needs, '=== 1 found \n')).toEqual(['docker: true (docker does not answer)']);
  });
});

it('gives a reason of one line with the item, what is missing and the ways out', () => {
  const missing = Array.from({ length: 7 }, (_, index) => `t${index}: true (there is no program t${index})`);
  const reason = environmentReason('TECH-7', 'ai/features/TECH-7.md', missing);
  expect(reason).toMatch(/TECH-7 asks for: t0: true .*t4\), and 2 more\..*SANDBOX_PROGRAMS.*ai\/features\/TECH-7\.md/);
  expect(reason).not.toContain('\n');
});
