/** Commands that are made of a workflow's data: how they read arguments and options, what they refuse, and their help. */
import { PassThrough } from 'node:stream';
import { type CommandInfo, type JsonObject, RUN_OPTIONS } from '@autonomous/shared';
import { Command, CommanderError } from 'commander';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createCommandLine } from '../command-line.ts';
import { UsageError } from '../exit.ts';
import { addCommandOf } from './workflow-command.ts';

const INPUT = z.strictObject({
  table: z.string().meta({ title: 'Path of the table', description: 'In the repository.' }),
  maxRounds: z.number().int().min(1).max(9).default(3).meta({ title: 'Rounds', description: 'Then it ends.' }),
  share: z.number().min(0).optional(),
  isQuick: z.boolean().default(false).meta({ title: 'Quick', description: 'Leaves the report out.' }),
  order: z.enum(['first', 'last']).default('first').meta({ title: 'Order' }),
  names: z.array(z.string()).optional().meta({ title: 'Names', description: 'Whom to ask. Empty: everybody.' }),
  rules: z.record(z.string(), z.object({ cents: z.number() })).optional(),
  secret: z.string().optional(),
});

/** Output and input of one command. */
async function given(args: readonly string[], command: CommandInfo = {}, input: z.ZodType = INPUT) {
  const output = new PassThrough();
  const text = () => String(output.read() ?? '');
  const io = { stdin: output, stdout: output, stderr: output, env: {}, cwd: '/', program: 'autonomous' };
  const program = new Command('autonomous')
    .exitOverride()
    .configureOutput({ writeOut: (line) => output.write(line), writeErr: (line) => output.write(line) });
  let seen: JsonObject | null = null;
  const source = {
    name: 'count-all',
    description: 'counts',
    input: z.toJSONSchema(input, { io: 'input' }) as JsonObject,
    needsProject: true,
    command,
  };
  addCommandOf(
    createCommandLine(io, program, () => {}),
    source,
    {
      instead: async (_io, values) => {
        seen = values;
        return 0;
      },
    },
  );
  const error = await program.parseAsync([...args], { from: 'user' }).then(
    () => null,
    (reason: unknown) => reason as Error,
  );
  return { input: seen as JsonObject | null, error, text: text() };
}

it('have a field of the input for each argument and option, and leave out what is not given', async () => {
  const command = { arguments: ['table'], options: { maxRounds: 'rounds', secret: null } };
  const all = ['--rounds', '2', '--share', '0.5', '--is-quick', '--order', 'last', '--names', 'a', '--names', 'b'];
  const rules = ['--rules', '{"a":{"cents":1}}'];
  expect((await given(['count-all', 'a.md', 'Count', 'it', ...all, ...rules], command)).input).toEqual({
    table: 'a.md',
    maxRounds: 2,
    share: 0.5,
    isQuick: true,
    order: 'last',
    names: ['a', 'b'],
    rules: { a: { cents: 1 } },
  });
  expect((await given(['count-all', '--table', 'a.md', 'Count'])).input).toEqual({ table: 'a.md' });
  expect((await given(['count-all', 'a.md', 'Count', '--secret', 'x'], command)).text).toContain('unknown option');
});

it('take the whole input as JSON where it is no object of known fields', async () => {
  const open = z.record(z.string(), z.number());
  expect((await given(['count-all', 'Count', '--input', '{"a":1}'], {}, open)).input).toEqual({ a: 1 });
});

it.each([
  [['--max-rounds', '10'], 'A whole number from 1 to 9 is needed.'],
  [['--max-rounds', '1.5'], 'A whole number from 1 to 9 is needed.'],
  [['--max-rounds', ''], 'A whole number from 1 to 9 is needed.'],
  [['--share', '-1'], 'A number from 0 is needed.'],
  [['--order', 'middle'], 'Allowed choices are first, last.'],
  [['--rules', '{'], 'It is not JSON'],
])('refuse %j by name', async (options, message) => {
  const { error, text } = await given(['count-all', 'Count', ...options]);
  expect([error instanceof CommanderError, text]).toEqual([true, expect.stringContaining(message)]);
});

it('say what to type where the request is missing, and take none where the workflow has none', async () => {
  const asks = { text: 'Say what is counted', example: 'Your question' };
  expect((await given(['count-all', 'a.md'], { arguments: ['table'], asks })).error).toEqual(
    new UsageError('Say what is counted: autonomous count-all "a.md" "Your question"'),
  );
  expect((await given(['count-all', 'a.md'], { arguments: ['table'], takesRequest: false })).input).toEqual({
    table: 'a.md',
  });
});

it('describe each option by its title, its description and its default', async () => {
  const { text } = await given(['count-all', '--help'], { review: { about: 'the sum', trustMode: 'sum' } });
  expect(text.replaceAll(/\s+/g, ' ')).toMatch(
    /--table <text> path of the table: in the repository --max-rounds <count> then it ends; else 3 \(1 to 9\) --share <count> share --is-quick quick: leaves the report out --order <which> order; else first \(choices: "first", "last"\) --names <text> whom to ask; else everybody; may be repeated/,
  );
  expect(text).toMatch(/--review  +asks you about the sum/);
});

it('give a field whose name is taken another one, and leave out what cannot be an option', async () => {
  const odd = z.object({
    json: z.string().optional(),
    noCache: z.boolean().optional(),
    fooBar: z.string().optional(),
    foo_bar: z.string().optional(),
    'a b': z.string().optional(),
    constructor: z.string().optional(),
  });
  const typed = ['--input-json', 'a', '--input-no-cache', '--foo-bar', 'b', '--constructor', 'c'];
  expect((await given(['count-all', 'Count', ...typed], { options: {} }, odd)).input).toEqual({
    json: 'a',
    noCache: true,
    fooBar: 'b',
    constructor: 'c',
  });
});

it('have no option of every command whose name a field could take', async () => {
  const { text } = await given(
    ['count-all', '--help'],
    { ownRepository: true, review: { about: 'it', trustMode: 'x' } },
    z.object({}),
  );
  const names = [...text.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
  expect(new Set(names)).toEqual(new Set(RUN_OPTIONS));
});
