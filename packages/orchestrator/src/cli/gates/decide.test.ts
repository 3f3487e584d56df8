import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { CliIo } from '../io.ts';
import { runCli } from '../program.ts';

/** No server is there to be asked. */
async function said(...args: readonly string[]): Promise<readonly [number, string]> {
  const stream = new PassThrough();
  let text = '';
  stream.on('data', (chunk) => (text += String(chunk)));
  const env = { AUTONOMOUS_SERVER: 'http://127.0.0.1:9', AUTONOMOUS_TOKEN: 'a-token-of-another-one' };
  const io: CliIo = { stdin: stream, stdout: stream, stderr: stream, env, cwd: '/', program: 'autonomous' };
  return [await runCli(args, io), text];
}

it.each([
  [['reject', 'r-1', '--feedback', '…'], 'feedback'],
  [['ask', 'r-1', '…'], 'question'],
  [['answer', 'r-1', '...'], 'response'],
  [['approve', 'r-1', '--notes', ' … '], 'notes'],
  [['accept', 'r-1', '--reason', '…'], 'reason'],
  [['close', 'r-1', '--reason', '…'], 'reason'],
])('%j, pasted as it is printed, is refused before it is sent', async (args, field) => {
  expect(await said(...args)).toEqual([
    64,
    `'${args.at(-1)?.trim()}' stands for words of your own: write the ${field} in its place.\n`,
  ]);
});

it('words with dots in them are sent', async () => {
  expect(await said('reject', 'r-1', '--feedback', 'Why …?')).toEqual([
    1,
    expect.stringContaining('No Autonomous server answers'),
  ]);
});
