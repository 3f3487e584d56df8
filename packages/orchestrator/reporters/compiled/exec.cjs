/**
 * Runs a compiled test binary of Go or Rust and reports the tests that it names in its output. That it came to its end is
 * told by something that the binary itself writes last, where it has that: Go's memory profile.
 */
'use strict';
const path = require('node:path');
const { spawn } = require('node:child_process');
const { existsSync, mkdtempSync, rmSync, statSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { session } = require('../node/record.cjs');

const [binary, ...given] = process.argv.slice(2);
const isGo = given.some((option) => option.startsWith('-test.'));
const isRust = /[/\\]deps[/\\][\w-]+-[0-9a-f]{16}$/.test(binary);
const lists = given.some((option) => option.startsWith('-test.list') || option === '--list');

if (lists || (!isGo && !isRust)) {
  const child = spawn(binary, given, { stdio: 'inherit' });
  child.on('error', fails);
  child.on('exit', (code) => process.exit(code ?? 1));
} else run();

function run() {
  const folder = mkdtempSync(path.join(tmpdir(), 'tests-'));
  const profile = path.join(folder, 'memory');
  const ownProfile = given.some((option) => option.startsWith('-test.memprofile'));
  const options = isGo
    ? [
        ...given.filter((option) => !/^-test\.v(=|$)/.test(option)),
        '-test.v=true',
        ...(ownProfile ? [] : [`-test.memprofile=${profile}`]),
      ]
    : given;
  const report = session(isGo ? 'go test' : 'cargo test');
  const name = isGo ? process.cwd() : path.basename(binary).replace(/-[0-9a-f]{16}$/, '');
  const child = spawn(binary, options, { stdio: ['inherit', 'pipe', 'inherit'] });
  let text = '';
  let summary = false;
  child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk);
    text += chunk.toString('latin1');
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  child.on('error', fails);
  child.on('close', (code) => {
    take(text);
    const ended = isGo ? ownProfile || (existsSync(profile) && statSync(profile).size > 0) : summary;
    if (ended) report.end();
    rmSync(folder, { recursive: true, force: true });
    process.exit(code ?? 1);
  });

  function take(line) {
    if (isGo) {
      const found = /^ *--- (PASS|FAIL|SKIP): (\S+) \(/.exec(line);
      if (found) report.test(found[2], name, { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }[found[1]], '');
      return;
    }
    const found = /^test (.+?) \.\.\. (ok|FAILED|ignored)/.exec(line);
    if (found) report.test(found[1], name, { ok: 'passed', FAILED: 'failed', ignored: 'skipped' }[found[2]], '');
    if (line.startsWith('test result: ')) summary = true;
  }
}

function fails(error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
}
