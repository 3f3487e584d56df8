import { expect, it } from 'vitest';
import { shownMarkdown } from './shown-markdown.ts';

it.each([
  'Fix\n\n[//]: # (SECRET)\n\nthanks',
  'Fix\n\n[note]: <> "SECRET"\n\nthanks',
  'Fix\n\n[a]:\n/u\n"SECRET\nSECRET"\n\nthanks',
  'Fix\n\n> [//]: # (SECRET)\n\nthanks',
  'Fix <!-- SECRET\n\n```\nSECRET\n``` -->thanks',
  'Fix <?SECRET?>thanks',
  'Fix <![CDATA[ SECRET ]]>thanks',
  'Fix <!X SECRET>thanks',
  'Fix ![ ](https://x.y/z "SECRET") thanks',
  "Fix [a](z\n'SECRET') thanks",
  'Fix <a name="> SECRET"></a>thanks',
  'Fix\n\n<div SECRET\n\nthanks',
  'Fix\n```js SECRET\ncode\n```\nthanks',
])('hidden text is left out: %j', (text) => {
  const shown = shownMarkdown(text);
  expect(shown).not.toContain('SECRET');
  expect(shown).toMatch(/^Fix[^]*thanks$/);
});

it.each([
  'Accept a password `<!--` only when it is right `-->` always.',
  '```\n<!--\n[//]: # (x)\n<b>\n```\nNever drop tables.',
  '~~~\n```\n<!--\n~~~\nNever.',
  '``<b> ` ``, a \\<b> and x <y, <https://a.example>',
  '[a](b) "quoted" ) text',
  'a ` b\n```\n`<b>`\n```',
  '[a](b), [x] done: yes\n- [ ] [a] todo\n[^1]: a note',
])('shown text stays: %j', (text) => {
  expect(shownMarkdown(text)).toBe(text);
});

it('shown parts of details stay', () => {
  expect(shownMarkdown('<details><summary>log</summary>\n\ntext\n\n</details>')).toBe('log\n\ntext\n\n');
});

it.each(['<a ', '`a', '](', '<a ">', '```>\n', '[a]: (\n', '](x "', '<!', '``` `\n', '[](a "x'])(
  'a long text is looked through at once: %j',
  (part) => {
    for (const begin of ['', '<!-- -->'])
      expect(shownMarkdown(begin + part.repeat(30_000)).length).toBeLessThanOrEqual(30_000 * part.length);
  },
);
