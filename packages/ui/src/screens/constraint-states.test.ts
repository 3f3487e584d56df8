import type { Artifact, Evidence } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aGate, aRun, evidenceOf } from '@autonomous/shared/a-run.fixture';
import { constraintStanding } from './constraint-states.ts';

const at = (minute: number): string => `2030-01-01T00:0${minute}:00.000Z`;
const aPlan = (parts: Partial<Artifact> = {}): Artifact => ({
  id: 'r-1.3',
  workflowRunId: 'r-1',
  stage: 'planning',
  type: 'mermaid_diagram',
  hash: 'h',
  version: 1,
  createdAt: at(1),
  ...parts,
});
const aCheck = (parts: Partial<Evidence> = {}): Evidence =>
  evidenceOf({ codeTree: 't1', commit: 'c1', recordedAt: at(3), ...parts });
const aReport = (parts: Partial<Artifact> = {}): Artifact =>
  aPlan({
    id: 'r-1.9',
    stage: 'validation',
    type: 'validation_report',
    createdAt: at(4),
    findings: [
      { kind: 'route', name: '/login', result: 'mentioned', where: 'src/login.js:3' },
      { kind: 'entity', name: 'SESSION', result: 'undecided' },
    ],
    ...parts,
  });
const login = { kind: 'route', name: '/login' } as const;
const session = { kind: 'entity', name: 'SESSION' } as const;
const plan = aPlan({ approvedBy: 'ada' });
const built = { currentStage: 'validation', codeTree: 't1' };

describe('What a plan requires', () => {
  it('binds nothing before the plan is approved, nor once another version has replaced it', () => {
    const waiting = aRun({ artifacts: [aPlan()], gate: aGate() });
    expect(constraintStanding(waiting, aPlan(), login).state).toBe('proposed');
    const older = aPlan({ id: 'r-1.2' });
    expect(constraintStanding(aRun({ ...built, artifacts: [older, plan] }), older, login).reason).toContain('replaced');
  });

  it('is bound by approval, or by going on where the plan is trusted', () => {
    expect(constraintStanding(aRun({ currentStage: 'implementation', artifacts: [plan] }), plan, login).state).toBe(
      'bound',
    );
    expect(
      constraintStanding(aRun({ currentStage: 'implementation', artifacts: [aPlan()] }), aPlan(), login).state,
    ).toBe('bound');
  });

  it('is decided by no name that the code mentions, though its place is shown', () => {
    const run = aRun({ ...built, artifacts: [plan, aReport()], evidence: [aCheck(), aCheck({ mode: 'base_tests' })] });
    expect(constraintStanding(run, plan, login)).toEqual({
      state: 'checked',
      reason:
        'The project’s checks passed. The name is mentioned at src/login.js:3, which proves nothing. Tests and the reviewer decide.',
    });
    expect(constraintStanding(run, plan, session).state).toBe('checked');
  });

  it('says of checks in a record that this server did not run them', () => {
    const run = aRun({ ...built, artifacts: [plan], evidence: [aCheck({ rebuiltAt: at(4) })] });
    expect(constraintStanding(run, plan, login).reason).toContain('not run by this server (passed by the record).');
  });

  it('does not pass on a report that is older than the newest check', () => {
    const run = aRun({ ...built, artifacts: [plan, aReport({ createdAt: at(2) })], evidence: [aCheck()] });
    expect(constraintStanding(run, plan, login).state).toBe('checked');
  });

  it.each([
    ['as it is', [aCheck({ passed: false })]],
    ['with the base’s tests', [aCheck(), aCheck({ mode: 'base_tests', passed: false })]],
  ])('has failed where the checks failed %s, whatever was found', (_, evidence) => {
    const run = aRun({ ...built, artifacts: [plan, aReport()], evidence });
    expect(constraintStanding(run, plan, login)).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('npm test'),
    });
  });

  it('says that the code has changed since', () => {
    const run = aRun({ ...built, codeTree: 't2', artifacts: [plan, aReport()], evidence: [aCheck()] });
    expect(constraintStanding(run, plan, login).state).toBe('changed');
  });
});
