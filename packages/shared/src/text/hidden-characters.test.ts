import { expect, it } from 'vitest';
import { countHidden, showHidden, showHiddenInLine, splitHidden } from './hidden-characters.ts';

it.each([
  [
    'reordering marks',
    'if (level != "user\u202e \u2066// admin\u2069"',
    'if (level != "user⟨U+202E⟩ ⟨U+2066⟩// admin⟨U+2069⟩"',
  ],
  ['zero-width characters', 'a\u200bb\u2060c\ufeffd\u00ade', 'a⟨U+200B⟩b⟨U+2060⟩c⟨U+FEFF⟩d⟨U+00AD⟩e'],
  ['tags', 'a\u{E0041}\u{E007F}', 'a⟨U+E0041⟩⟨U+E007F⟩'],
  ['variation selectors on letters', 'a\ufe0fb\u{E0100}', 'a⟨U+FE0F⟩b⟨U+E0100⟩'],
  ['a row of selectors behind an emoji', '❤\ufe0f\ufe0f\ufe01', '❤\ufe0f⟨U+FE0F⟩⟨U+FE01⟩'],
  ['blank letters', 'const \u3164 = "\u2800\u115f"', 'const ⟨U+3164⟩ = "⟨U+2800⟩⟨U+115F⟩"'],
  ['control characters', 'a\u0000b\u001bc\u007fd\u009be', 'a⟨U+0000⟩b⟨U+001B⟩c⟨U+007F⟩d⟨U+009B⟩e'],
  [
    'line ends that only some programs know',
    'a\u2028b\u2029c\u0085d\ve\ff',
    'a⟨U+2028⟩b⟨U+2029⟩c⟨U+0085⟩d⟨U+000B⟩e⟨U+000C⟩f',
  ],
  ['carriage returns within a line', 'safe()\revil()\r\n', 'safe()⟨U+000D⟩evil()\r\n'],
  ['private use', 'a\ue000b\u{F0000}', 'a⟨U+E000⟩b⟨U+F0000⟩'],
  ['a flag with another message', '🏴\u{E0061}\u{E007F}', '🏴⟨U+E0061⟩⟨U+E007F⟩'],
  ['joiners between Latin letters', 'pay\u200dload \u200cx', 'pay⟨U+200D⟩load ⟨U+200C⟩x'],
])('C07: %s are seen', (_name, text, shown) => {
  expect(showHidden(text)).toBe(shown);
});

it.each([
  'größe été עברית العربية 日本語 ⟨U+202E⟩',
  '👩‍💻 ❤️ 1️⃣ 👍🏽 🏳️‍🌈 🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}',
  'می‌خواهم क्‍ष',
  '\tone\r\n\ttwo\n',
])('leaves %j as it is', (text) => {
  expect(showHidden(text)).toBe(text);
  expect(countHidden([text]).size).toBe(0);
});

it('shows line ends and tabs of a name as well', () => {
  expect(showHiddenInLine('a\r\nb\tc\u001b[2J\u202e❤\ufe0f\r')).toBe(
    'a⟨U+000D⟩⟨U+000A⟩b⟨U+0009⟩c⟨U+001B⟩[2J⟨U+202E⟩❤\ufe0f⟨U+000D⟩',
  );
});

it('tells an escape from text that looks like one', () => {
  expect(splitHidden('⟨U+200B⟩a\u200b\u200bb')).toEqual([
    { text: '⟨U+200B⟩a', isHidden: false },
    { text: '⟨U+200B⟩', isHidden: true },
    { text: '⟨U+200B⟩', isHidden: true },
    { text: 'b', isHidden: false },
  ]);
  expect(splitHidden('')).toEqual([]);
});

it('counts each kind', () => {
  expect([...countHidden(['a\u200b', '\u202e\u200b'])]).toEqual([
    ['U+200B', 2],
    ['U+202E', 1],
  ]);
});
