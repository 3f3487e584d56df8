import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { plainMessage } from './plain-message.ts';

/** Text that the editor turns into a link in a message or prompt. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/;

describe('E06 a message of the editor', () => {
  it.each([
    '[Approve](command:workbench.action.terminal.new)',
    'a [x](https://evil.example/a "b") and [y](file:///etc/passwd)',
    '[[x](command:a)](command:b)',
  ])('holds no link, whatever a title says: %j', (text) => {
    expect(text).toMatch(LINK);
    expect(plainMessage(text)).not.toMatch(LINK);
    expect(plainMessage(text).replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
  });

  it('holds no link that something unseen has hidden', () => {
    expect(plainMessage('[x]\u200e(command:a) [y]\u001b[0m(command:b)')).toBe('[x]⟨U+200E⟩(command:a) [y] (command:b)');
  });

  it('holds no picture that looks like one of ours', () => {
    expect(plainMessage('$(verified) checked $(pass~spin)')).toBe('$ (verified) checked $ (pass~spin)');
  });

  it('says all other words as they are', () => {
    expect(plainMessage('“<b>x</b> [draft]” (2) – ${7*7}')).toBe('“<b>x</b> [draft]” (2) – ${7*7}');
  });
});

/** Where text is given to the editor that it does not show as it is, and how that text begins. */
const PLACES = [
  { name: 'a notification', place: /\.show(?:Information|Warning|Error)Message\(\s*/g },
  { name: 'a notification of another kind', place: /await show\(\s*/g },
  { name: 'a prompt', place: /\bprompt:\s*/g },
  { name: 'the title of what is under way', place: /ProgressLocation\.Notification,\s*title:\s*/g },
  { name: 'Markdown', place: /\.appendMarkdown\(\s*/g },
  { name: 'a choice', place: /\b(?:label|detail):\s*/g, within: 'commands' },
];
/** Words of our own: no text of anybody else is put into them. Or a type, which is no text. */
const OWN =
  /^(?:string\b|'[^'\n]*'|`(?:[^`$]|\$\([a-z~-]+\)|\$\{(?:[A-Z_]+|count\w*\([^)]*\)|plainMessage\([^)]*\))\})*`|plainMessage\()/;

describe('E06 the editor', async () => {
  const folder = import.meta.dirname;
  const files = (await readdir(folder, { recursive: true })).filter((file) => /(?<!\.test|\.fixture)\.ts$/.test(file));
  const sources = await Promise.all(
    files.map(async (file) => ({ file, source: await readFile(path.join(folder, file), 'utf8') })),
  );

  it.each(PLACES)('is given $name only through plainMessage, or in our own words', ({ place, within = '' }) => {
    const begun = sources
      .filter(({ file }) => file.startsWith(within))
      .flatMap(({ file, source }) =>
        [...source.matchAll(place)].map((match) => {
          const [line = ''] = source.slice(match.index + match[0].length).split('\n');
          return { file, line };
        }),
      );
    expect(begun.length).toBeGreaterThan(0);
    expect(begun.filter(({ line }) => !OWN.test(line))).toEqual([]);
  });

  it('has no Markdown that is trusted', () => {
    for (const { file, source } of sources)
      expect(`${file}: ${source}`).not.toMatch(/isTrusted\s*=|supportHtml|appendCodeblock/);
  });
});
