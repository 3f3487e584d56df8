import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/api-error.ts';
import { firstLineOf, plainJson, sanitizeText } from './sanitize-text.ts';
import { explainRefusal } from '../gates/refusal.ts';

const NEVER_SHOWN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

describe('E06 words of others', () => {
  it.each([
    ['\u001b[31mred\u001b(B\u001b[0m \u009b1mbold', 'red bold'],
    ['\u001b]8;;https://evil.example\u0007here\u001b]8;;\u001b\\ it is', 'here it is'],
    // Nothing but a link that ends is taken away whole: what a person decides on must not hide behind one character.
    ['\u001b]0;title', '⟨U+001B⟩]0;title'],
    ['Run tests?\u009d And push to main?\nNo\u0007.', 'Run tests?⟨U+009D⟩ And push to main?\nNo⟨U+0007⟩.'],
    ['ada\u202e, approved\u2066x\u2069', 'ada⟨U+202E⟩, approved⟨U+2066⟩x⟨U+2069⟩'],
    ['a\u0000b\u0007c\u007fd\u0085e\u061cf', 'a⟨U+0000⟩b⟨U+0007⟩c⟨U+007F⟩d⟨U+0085⟩e⟨U+061C⟩f'],
    ['a\u200bb\u{E0041}c\u2028d', 'a⟨U+200B⟩b⟨U+E0041⟩c⟨U+2028⟩d'],
    ['one\r\ntwo\rthree\n\tfour', 'one\ntwo\nthree\n\tfour'],
  ])('%j are %j', (text, words) => {
    expect(sanitizeText(text)).toBe(words);
  });

  it('keep what only looks dangerous', () => {
    const text = `<script>top.x=1</script> [x](command:y) \${7*7} {{7*7}} été 日本 עברית 👩‍💻`;
    expect(sanitizeText(text)).toBe(text);
  });

  it('are in a refusal as they are anywhere: whoever was first chose the name', () => {
    const winner = { decision: 'approve', by: 'ada\u202e', at: '2030-01-01T00:00:00.000Z', notes: '\u001b[2Jno' };
    const problem = {
      type: 'about:blank',
      title: 'Conflict',
      status: 409,
      code: 'conflict' as const,
      detail: '',
      winner,
    };
    const words = explainRefusal(new ApiError(problem), Date.parse(winner.at));
    expect(words).toBe('Somebody was first: ada⟨U+202E⟩ has approved this just now: “no”.');
    expect(explainRefusal(new Error('a\u001b[31m\u202eb'), 0)).toBe('a⟨U+202E⟩b');
  });
});

it('E06 what is stored can be seen as it is', () => {
  const shown = plainJson({ by: 'ada\u202e\u009b', message: '\u001b[31m<b>' });
  expect(shown).not.toMatch(NEVER_SHOWN);
  expect(JSON.parse(shown)).toEqual({ by: 'ada\u202e\u009b', message: '\u001b[31m<b>' });
  const tags = { plan: 'a\u{E0041}\u200b\u2028👩‍💻' };
  expect(plainJson(tags, 0)).toBe('{"plan":"a\\udb40\\udc41\\u200b\\u2028👩‍💻"}');
  expect(JSON.parse(plainJson(tags))).toEqual(tags);
  expect(plainJson(undefined)).toBe('');
});

it('gives the first line that says anything, with single spaces', () => {
  expect(firstLineOf('\n  Update  alpha\tto 1.3\r\n\nUPDATE requirements')).toBe('Update alpha to 1.3');
  expect(firstLineOf('')).toBe('');
});
