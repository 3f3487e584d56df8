import { InvalidRequest, noSuchRun, type RunView, toProblem } from '@autonomous/shared';
import { ApiError, ServerUnreachable } from '@autonomous/shared/client';
import { describe, expect, it } from 'vitest';
import { startCommand } from '../server/start-command.ts';
import { exitCodeOf, explainError, UsageError } from './exit.ts';

const aRun = (fields: object): RunView => ({ status: 'running', gate: null, ...fields }) as unknown as RunView;

describe('the exit code of a run', () => {
  it.each([
    [0, { status: 'completed' }],
    [1, { status: 'failed' }],
    [1, { status: 'cancelled' }],
    [1, { status: 'awaiting_approval', gate: { kind: 'plan' } }],
    [1, { status: 'paused', gate: { kind: 'pause', reason: 'timeout' } }],
    [2, { status: 'paused', gate: { kind: 'pause', reason: 'budget' } }],
    [2, { status: 'paused', gate: { kind: 'pause', reason: 'rate_limited' } }],
  ])('is %i for %j', (code, fields) => {
    expect(exitCodeOf(aRun(fields))).toBe(code);
  });
});

describe('an error', () => {
  it('of the command line ends with 64', () => {
    expect(explainError(new UsageError('No.'))).toEqual({ message: 'No.', exitCode: 64 });
  });

  it('of the server is told in its own words, without a stack', () => {
    const refused = new ApiError(toProblem(new InvalidRequest("There is no workflow 'x'.")));
    expect(explainError(refused)).toEqual({ message: "There is no workflow 'x'.", exitCode: 1 });
    const gone = explainError(new ServerUnreachable('http://127.0.0.1:1', null));
    expect(gone.message).toBe('No Autonomous server answers at http://127.0.0.1:1.\nStart it with: npm start');
  });

  it('about a run that is not there names the command that lists them', () => {
    expect(explainError(new ApiError(toProblem(noSuchRun('zzz'))))).toEqual({
      message: `There is no run 'zzz'.\nThe runs are listed by: ${startCommand().program} list`,
      exitCode: 1,
    });
  });

  it('that nobody foresaw is called a fault of the program', () => {
    expect(explainError(new Error('x is undefined'))).toEqual({
      message: 'This should not have happened, it is a fault of the program: x is undefined',
      exitCode: 1,
    });
  });
});
