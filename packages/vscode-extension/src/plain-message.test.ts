import { describe, expect, it } from 'vitest';
import { plainMessage } from './plain-message.ts';

/** What the editor makes a link of in a message. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/;

describe('E06 a notification', () => {
  it.each([
    '[Approve](command:workbench.action.terminal.new)',
    'a [x](https://evil.example/a "b") and [y](file:///etc/passwd)',
    '[[x](command:a)](command:b)',
  ])('holds no link, whatever a title says: %j', (text) => {
    expect(text).toMatch(LINK);
    expect(plainMessage(text)).not.toMatch(LINK);
    expect(plainMessage(text).replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
  });

  it('says all other words as they are', () => {
    expect(plainMessage('“<b>x</b> [draft]” (2) – ${7*7}')).toBe('“<b>x</b> [draft]” (2) – ${7*7}');
  });
});
