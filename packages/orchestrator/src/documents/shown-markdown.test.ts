import { expect, it } from 'vitest';
import { shownMarkdown } from './shown-markdown.ts';

it.each([
  'Fix\n\n[//]: # (SECRET)\n\nthanks',
  'Fix\n\n[note]: <> "SECRET"\n\nthanks',
  'Fix\n\n[a]:\n/u\n"SECRET\nSECRET"\n\nthanks',
  'Fix\n\n> [//]: # (SECRET)\n\nthanks',
  'Fix\n\n<!-- SECRET\n\n```\nSECRET\n``` -->thanks',
  'Fix <?SECRET?>thanks',
  'Fix <![CDATA[ SECRET ]]>thanks',
  'Fix <!X SECRET>thanks',
  'Fix ![ ](https://x.y/z "SECRET") thanks',
  "Fix [a](z\n'SECRET') thanks",
  'Fix <a name="> SECRET"></a>thanks',
  'Fix\n\n<div SECRET\n\nthanks',
  'Fix\n```js SECRET\ncode\n```\nthanks',
  'Fix ![SECRET](https://x.y/SECRET) [](https://x.y/SECRET)[a][SECRET] thanks\n\n[SECRET]: /u\n\nthanks',
  'Fix\n\n<details>\n`<!-- SECRET -->`\n</details>\n\nthanks',
  'Fix\n\n<div>\n```\n<!-- SECRET -->\n```\n</div>\n\nthanks',
  'Fix\n\n<pre>\n\n<!-- SECRET --></pre>\nthanks',
  'Fix\n\n<div><!--\n\nSECRET\n\n<b title="-->">thanks',
  'Fix\n\n> <a\n> title="SECRET">thanks',
  'Fix\n\n[^9]: SECRET\n    SECRET\n\nthanks',
  'Fix\n\n[^8]: SECRET[^9]\n[^9]: SECRET[^8]\n\nthanks',
  'Fix[^1]\n\n[^1]: a\n[^1]: SECRET\n\nthanks',
  'Fix\n\n| a |\n|---|\n| a | SECRET |\n\nthanks',
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
  '[a](b), [x] done: yes\n- [ ] [a] todo[^1]\n\n[^1]: a note[^2]\n[^2]: a further note',
  'a <!-- b\n\nc --> d\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\ue000!; \ue0000; &lt;b&gt;',
])('shown text stays: %j', (text) => {
  expect(shownMarkdown(text)).toBe(text);
});

it('shown parts of details stay', () => {
  expect(shownMarkdown('<details><summary>log</summary>\n\ntext\n\n</details>')).toBe('log\n\ntext\n\n');
  expect(shownMarkdown('text <b>\n\n<div>\ue0000;\ue000!;</div>')).toBe('text \n\n\ue0000;\ue000!;');
});

it.each(['<a ', '`a', '](', '<a ">', '```>\n', '[a]: (\n', '](x "', '<!', '``` `\n', '[](a "x'])(
  'a long text is looked through at once: %j',
  (part) => {
    for (const begin of ['', '<!-- -->'])
      expect(shownMarkdown(begin + part.repeat(2_000)).length).toBeLessThanOrEqual(2_000 * part.length);
  },
);
