import { expect, it } from 'vitest';
import { ApiError, ServerUnreachable } from '../api/api-error.ts';
import type { ProblemDetails } from '../errors.ts';
import { explainRefusal, problemOf, refusalLines } from './refusal.ts';

const NOW = Date.parse('2030-01-01T01:00:00.000Z');
const conflict: ProblemDetails = {
  type: 't',
  title: 'Conflict',
  status: 409,
  detail: 'Gate g is already decided.',
  code: 'conflict',
};

it('says who was first, what they decided, when and why', () => {
  const winner = {
    gateId: 'g',
    kind: 'plan',
    decision: 'reject',
    by: 'ada',
    at: '2030-01-01T00:57:00.000Z',
    notes: 'too large',
  };
  expect(explainRefusal(new ApiError({ ...conflict, winner }), NOW)).toBe(
    'Somebody was first: ada has rejected this 3 min ago: “too large”.',
  );
});

it("gives the server's words, with every fault, where nobody was first", () => {
  expect(explainRefusal(new ApiError(conflict), NOW)).toBe('Gate g is already decided.');
  const faults = [{ path: 'config.git', message: 'must be an object' }];
  expect(explainRefusal(new ApiError({ ...conflict, faults }), NOW)).toBe(
    'Gate g is already decided. config.git must be an object',
  );
  expect(explainRefusal(new ApiError({ ...conflict, winner: 'ada' }), NOW)).toBe('Gate g is already decided.');
});

it('says each fault once, where the detail names them as well', () => {
  const faults = [{ path: 'config.git', message: 'Must be an object.' }];
  const detail = 'config.git: Must be an object.';
  expect(explainRefusal(new ApiError({ ...conflict, detail, faults }), NOW)).toBe(detail);
});

it('gives several faults a line each, under what was refused', () => {
  const faults = [
    { path: 'a', message: 'is not a known key' },
    { path: '', message: 'Give a request.' },
  ];
  const lines = ['  a: is not a known key', '  Give a request.'];
  const body = "The request's body cannot be taken: a: is not a known key; Give a request.";
  expect(refusalLines({ detail: body, faults })).toEqual(["The request's body cannot be taken:", ...lines]);
  expect(refusalLines({ detail: 'a: is not a known key Give a request.', faults })).toEqual([
    'The server refuses the request:',
    ...lines,
  ]);
  expect(refusalLines({ detail: 'No price is known. Name one.', faults })).toEqual([
    'No price is known. Name one.',
    ...lines,
  ]);
  expect(refusalLines({ detail: body, faults: faults.slice(1) })).toEqual([body]);
});

it('makes a problem of anything that is thrown', () => {
  expect(problemOf(new ServerUnreachable('http://x', null))).toMatchObject({ status: 503, code: 'unavailable' });
  expect(problemOf('odd')).toMatchObject({ status: 500, detail: 'odd' });
});
