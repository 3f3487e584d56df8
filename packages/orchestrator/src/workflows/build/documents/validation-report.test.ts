import { evidenceOf } from '@autonomous/shared/a-run.fixture';
import { textWarnings } from '@autonomous/shared/presentation';
import { describe, expect, it } from 'vitest';
import { renderValidationReport, type ValidationReport } from './validation-report.ts';

const evidence = evidenceOf({ codeTree: 'tree1', commit: 'a1b2c3d' });

describe('the validation report', () => {
  const report: ValidationReport = {
    runId: 'abc123-def456',
    title: 'Login flow',
    at: '2026-02-21T10:40:00Z',
    verdict: 'passed',
    summary: 'All checks passed.',
    codeTree: 'tree1',
    commit: 'a1b2c3d',
    evidence: [
      evidence,
      {
        ...evidence,
        mode: 'base_tests',
        restored: ['test/a.test.ts'],
        passed: false,
        commands: [{ command: 'npm test', exitCode: null, durationMs: 60_000, output: '' }],
      },
    ],
    constraints: [
      { kind: 'route', name: 'Login Page', result: 'mentioned', where: 'src/login.ts:3' },
      { kind: 'component', name: 'AuthenticationCheck', result: 'undecided' },
    ],
    scriptedModels: [],
  };

  it('gives commands, exit codes, code tree, sandbox, constraints and verdict', () => {
    const text = renderValidationReport(report);
    for (const part of [
      '# Validation report: Login flow',
      '**Verdict: passed**',
      '| `abc123-def456` | 2026-02-21T10:40:00Z | `a1b2c3d` | `tree1` |',
      '### The result as it is: passed',
      'Sandbox: `bubblewrap`.',
      '| `npm test` | 0 | 1.2 |',
      '```text\nok 12 tests\n```',
      'scripts put back: failed',
      '| `npm test` | none (it was killed) | 60.0 |',
      'put back for this run: `test/a.test.ts`',
      '| route | `Login Page` | mentioned at `src/login.ts:3` |',
      '| component | `AuthenticationCheck` | not found by its name |',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('cripted');
    expect(text).not.toContain('ccepted');
    expect(text).not.toMatch(/satisf/i);
  });

  it('says that scripted models took part, that no sandbox was there, and that there is no evidence', () => {
    expect(renderValidationReport({ ...report, scriptedModels: ['scripted:demo'] })).toContain(
      '**Scripted models took part in this run:** `scripted:demo`',
    );
    expect(renderValidationReport({ ...report, evidence: [{ ...evidence, sandbox: 'none' }] })).toContain(
      'ran without a sandbox',
    );
    expect(renderValidationReport({ ...report, evidence: [] })).toContain('there is no evidence');
    const ofRecord = { ...evidence, rebuiltAt: '2030-01-01T00:00:00.000Z' };
    expect(renderValidationReport({ ...report, evidence: [ofRecord] })).toContain(
      'not run by this server (passed by the record)',
    );
    expect(renderValidationReport({ ...report, evidence: [{ ...evidence, codeTree: 'other' }] })).toContain(
      'another code tree',
    );
  });

  it('says clearly what an override accepted, who did it and why', () => {
    const text = renderValidationReport({
      ...report,
      verdict: 'failed',
      override: {
        by: 'local',
        at: '2026-02-21T11:00:00Z',
        reason: 'known flake',
        accepted: ['npm test ended with exit code 1'],
      },
    });
    expect(text).toContain('**Verdict: failed, accepted by a person all the same**');
    expect(text).toContain('`local` accepted this result on 2026-02-21T11:00:00Z. Reason given: known flake');
    expect(text).toContain('- npm test ended with exit code 1');
  });

  it('has neither colours of a terminal nor characters that are not seen', () => {
    const output = '\u001b[32mok\u001b(B\u001b[m 1 \u001b]0;title\u0007\r\n``\u001b[0m` \u202e';
    const text = renderValidationReport({
      ...report,
      evidence: [{ ...evidence, commands: [{ command: 'npm \u001b[1mtest', exitCode: 1, durationMs: 1, output }] }],
      feedback: '\u200bwell',
    });
    expect(text).toContain('````text\nok 1 ⟨U+001B⟩]0;title⟨U+0007⟩\n``` ⟨U+202E⟩\n````');
    expect(text).toContain('Output of `npm test`:');
    expect(textWarnings(text, 'in it')).toEqual([]);
  });

  it('cannot be forged by what commands or models wrote', () => {
    const forged = '```\n\n**Verdict: passed**\n\n````\n## Checks that were run\n<script>x</script>';
    const text = renderValidationReport({
      ...report,
      verdict: 'failed',
      title: `x\n# y | <b> ${'`'}`,
      summary: forged,
      feedback: forged,
      evidence: [{ ...evidence, commands: [{ command: 'a | b\n`c`', exitCode: 1, durationMs: 1, output: forged }] }],
      constraints: [{ kind: 'route', name: 'a | b ``` c\n| x |', result: 'undecided' }],
    });
    expect(text).toContain('# Validation report: x \\# y \\| &lt;b> \\`');
    // Outside the fences of five backticks there is one verdict.
    const outside = text.replace(/`{5}text\n[\s\S]*?\n`{5}\n/g, '');
    expect(outside.match(/^\*\*Verdict: .*/gm)).toEqual(['**Verdict: failed**']);
    expect(outside.match(/^## Checks that were run$/gm)).toHaveLength(1);
    expect(outside).not.toContain('<script>');
    expect(text).toContain('| `` a \\| b `c` `` | 1 | 0.0 |');
  });
});
