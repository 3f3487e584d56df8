import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lastMessageIn, lastMessageOf } from './transcript.ts';

const assistant = (...content: readonly unknown[]) => JSON.stringify({ type: 'assistant', message: { content } });
const text = (said: string) => ({ type: 'text', text: said });
const user = (said: string) => JSON.stringify({ type: 'user', message: { content: said } });
const lines = (...all: readonly string[]) => `${all.join('\n')}\n`;

describe('the last message in a transcript', () => {
  it('is the text of the last entry of the agent', () => {
    const said = lines(
      user('Go'),
      assistant(text('First')),
      assistant({ type: 'tool_use' }),
      assistant(text('a'), text('b')),
    );
    expect(lastMessageIn(said)).toBe('a\nb');
  });

  it('is found before entries of other kinds and broken lines', () => {
    const sidechain = JSON.stringify({ type: 'assistant', isSidechain: true, message: { content: [text('sub')] } });
    const said = lines(
      assistant(text('Here')),
      sidechain,
      '{"type":"system"}',
      '7',
      '{"type":',
      assistant({ type: 'thinking' }),
    );
    expect(lastMessageIn(`cut"}\n${said}`)).toBe('Here');
  });

  it.each([
    ['there is none', ''],
    ['the agent said nothing since the last prompt', lines(assistant(text('Before')), user('Go on'))],
  ])('is empty when %s', (_, said) => {
    expect(lastMessageIn(said)).toBe('');
  });

  it('is read from the end of a long file', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'transcript-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'session.jsonl');
    writeFileSync(
      file,
      lines(...Array.from({ length: 3_000 }, () => user('x'.repeat(1_000))), assistant(text('Last'))),
    );
    expect(await lastMessageOf(file)).toBe('Last');
    expect(await lastMessageOf(folder)).toBe('');
    expect(await lastMessageOf(path.join(folder, 'gone'))).toBe('');
  });
});
