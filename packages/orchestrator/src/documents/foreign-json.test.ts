import { expect, it } from 'vitest';
import { parseForeignJson } from './foreign-json.ts';

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

it('parses JSON, however many brackets its strings have', () => {
  const value = { text: '[{'.repeat(10_000), quoted: '"[\\', list: [1, null, { a: [] }] };
  expect(parseForeignJson(JSON.stringify(value))).toEqual({ ok: true, value });
  expect(parseForeignJson(nested(500)).ok).toBe(true);
});

it('refuses what is no JSON, and what is nested too deeply', () => {
  expect(parseForeignJson('{"a":')).toEqual({ ok: false, message: 'is not JSON' });
  expect(parseForeignJson(nested(501))).toEqual({ ok: false, message: 'is JSON of more than 500 levels' });
  expect(parseForeignJson(`{"a":${nested(200_000)}}`)).toEqual({
    ok: false,
    message: 'is JSON of more than 500 levels',
  });
});
