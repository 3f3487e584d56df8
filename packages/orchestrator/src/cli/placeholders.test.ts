import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import type { CliIo } from './io.ts';
import { startCommand } from '../server/start-command.ts';
import { runCli } from './program.ts';

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
  [['reject', 'r-1', '--feedback', '<text>'], 'feedback'],
  [['ask', 'r-1', '…'], 'question'],
  [['answer', 'r-1', '...'], 'response'],
  [['approve', 'r-1', '--notes', ' … '], 'notes'],
  [['accept', 'r-1', '--reason', '…'], 'reason'],
  [['close', 'r-1', '--reason', '…'], 'reason'],
  [['message', 'r-1', '…'], 'text'],
  [['run', '…'], 'request'],
  [['research', '<topic>', 'What is new?'], 'topic'],
])('a placeholder in %j is refused before it is sent', async (args, field) => {
  expect(await said(...args)).toEqual([
    64,
    expect.stringMatching(`^'.+' is a placeholder: write the ${field} in its place.\n$`),
  ]);
});

it.each(['…', '<id>'])('%s, in the place of a run, is a run that is not there', async (run) => {
  expect(await said('approve', run)).toEqual([
    1,
    `There is no run '${run}'.\nThe runs are listed by: ${startCommand().program} list\n`,
  ]);
});

it.each(['Why …?', 'Use <b> for names', '<b>'])('the words %j are sent', async (words) => {
  expect(await said('reject', 'r-1', '--feedback', words)).toEqual([
    1,
    expect.stringContaining('No Autonomous server answers'),
  ]);
});
