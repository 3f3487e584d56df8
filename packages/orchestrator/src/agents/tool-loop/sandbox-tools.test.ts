import { describe, expect, it } from 'vitest';
import { aWorkplace } from '../agent.fixture.ts';
import { SANDBOX_TOOLS } from './sandbox-tools.ts';

const { read, write, edit, list, search, run } = SANDBOX_TOOLS;
const signal = new AbortController().signal;

describe('read', () => {
  it('shows lines with their numbers and says how to go on', async () => {
    const { sandbox, put } = await aWorkplace();
    await put('a.txt', 'one\ntwo\nthree\nfour\n');
    expect(await read.perform({ path: 'a.txt' }, sandbox, signal)).toBe(
      '     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour',
    );
    expect(await read.perform({ path: 'a.txt', offset: 2, limit: 2 }, sandbox, signal)).toBe(
      '     2\ttwo\n     3\tthree\n(lines 2 to 3 of 4; go on with offset 4)',
    );
    expect(await read.perform({ path: '/workspace/a.txt', offset: 4 }, sandbox, signal)).toBe(
      '     4\tfour\n(lines 4 to 4 of 4)',
    );
  });

  it('C01: says what is wrong with a path or an offset', async () => {
    const { sandbox, put } = await aWorkplace();
    await put('a.txt', 'one\n');
    await put('empty.txt', '');
    expect(await read.perform({ path: 'empty.txt' }, sandbox, signal)).toBe('(the file is empty)');
    await expect(read.perform({ path: 'b.txt' }, sandbox, signal)).rejects.toThrow('There is no file "b.txt"');
    await expect(read.perform({ path: '../x' }, sandbox, signal)).rejects.toThrow('leads out of the folder');
    await expect(read.perform({ path: '/uploads/../etc/passwd' }, sandbox, signal)).rejects.toThrow('is absolute');
    await expect(read.perform({ path: 'a.txt', offset: 9 }, sandbox, signal)).rejects.toThrow(
      'The file has 1 lines, so there is no line 9.',
    );
  });

  it('stops before it fills the context of a model', async () => {
    const { sandbox, put } = await aWorkplace();
    await put('long.txt', `${'x'.repeat(1_000)}\n`.repeat(200));
    const text = await read.perform({ path: 'long.txt' }, sandbox, signal);
    expect(text.length).toBeLessThan(61_000);
    expect(text).toMatch(/\(lines 1 to 59 of 200; go on with offset 60\)$/);
  });
});

describe('write', () => {
  it('keeps the orchestrator its folder', async () => {
    const { sandbox, get } = await aWorkplace();
    for (const path of [
      '.autonomous/config.json',
      './.autonomous/memory.md',
      '/workspace/.autonomous/x',
      '.autonomous',
    ]) {
      await expect(write.perform({ path, content: 'x' }, sandbox, signal)).rejects.toThrow(
        'belongs to the orchestrator',
      );
    }
    expect(await get('.autonomous/config.json')).toBeNull();
    expect(await write.perform({ path: 'a/.autonomously', content: 'x' }, sandbox, signal)).toBe(
      'Wrote a/.autonomously, 1 lines.',
    );
  });
});

describe('edit', () => {
  it('replaces exactly one piece, and takes no pattern of replacement for one', async () => {
    const { sandbox, put, get } = await aWorkplace();
    await put('a.ts', 'let a = 1;\nlet b = 1;\n');
    expect(
      await edit.perform({ path: 'a.ts', oldText: 'let b = 1;', newText: "let b = '$&$1';" }, sandbox, signal),
    ).toBe('Changed a.ts at line 2.');
    expect(await get('a.ts')).toBe("let a = 1;\nlet b = '$&$1';\n");
  });

  it('changes nothing when the piece is missing, not unique or the same', async () => {
    const { sandbox, put, get } = await aWorkplace();
    await put('a.ts', 'x\r\ny\r\nx\r\n');
    await expect(edit.perform({ path: 'a.ts', oldText: 'z', newText: 'a' }, sandbox, signal)).rejects.toThrow(
      'oldText is not in "a.ts".',
    );
    await expect(edit.perform({ path: 'a.ts', oldText: 'x\ny', newText: 'a' }, sandbox, signal)).rejects.toThrow(
      'CRLF',
    );
    await expect(edit.perform({ path: 'a.ts', oldText: 'x', newText: 'a' }, sandbox, signal)).rejects.toThrow(
      'more than once (lines 1 and 3)',
    );
    await expect(edit.perform({ path: 'a.ts', oldText: 'y', newText: 'y' }, sandbox, signal)).rejects.toThrow(
      'nothing would change',
    );
    expect(await get('a.ts')).toBe('x\r\ny\r\nx\r\n');
  });
});

describe('list and search', () => {
  it('show paths and matching lines', async () => {
    const { sandbox, put } = await aWorkplace();
    await put('src/a.ts', 'export const a = 1;\n');
    await put('b.md', 'a = b\n');
    expect(await list.perform({}, sandbox, signal)).toBe('b.md\nsrc/a.ts');
    expect(await list.perform({ path: '/workspace/src' }, sandbox, signal)).toBe('src/a.ts');
    expect(await search.perform({ pattern: 'a = [0-9]' }, sandbox, signal)).toBe('src/a.ts:1: export const a = 1;');
    expect(await search.perform({ pattern: 'nowhere' }, sandbox, signal)).toBe('No line matches.');
    await expect(search.perform({ pattern: '(' }, sandbox, signal)).rejects.toThrow(
      'is not an extended regular expression',
    );
  });
});

describe('run', () => {
  it('shows exit code and output, and kills what takes too long', async () => {
    const { sandbox } = await aWorkplace();
    expect(await run.perform({ command: 'echo out; echo err >&2; exit 3' }, sandbox, signal)).toBe(
      'Exit code 3.\nstdout:\nout\nstderr:\nerr',
    );
    expect(await run.perform({ command: 'true' }, sandbox, signal)).toBe('Exit code 0.\nNo output.');
    expect(await run.perform({ command: 'echo begun; sleep 30', timeoutSeconds: 1 }, sandbox, signal)).toContain(
      'Killed after 1 s.',
    );
  });

  it('keeps beginning and end of a long output', async () => {
    const { sandbox } = await aWorkplace();
    const text = await run.perform({ command: 'echo begin; yes | head -c 100000; echo end' }, sandbox, signal);
    expect(text.length).toBeLessThan(21_000);
    expect(text).toMatch(/^Exit code 0\.\nstdout:\nbegin.*characters left out.*end$/s);
  });
});
