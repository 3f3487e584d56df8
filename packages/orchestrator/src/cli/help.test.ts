/** The help of the program, and the page of the documentation that lists the same commands. */
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from './program.ts';

const PAGE = new URL('../../../../docs/commands.md', import.meta.url);
const COLUMNS = 80;

const stdout = new PassThrough();
const program = createProgram(
  { stdin: stdout, stdout, stderr: stdout, env: {}, cwd: '/', program: 'autonomous' },
  () => {},
);

function helpOf(command: Command): string {
  command.outputHelp();
  return String(stdout.read());
}

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** Rows of the page for a command: one, or one for each of its subcommands. */
function rowsOf(command: Command): readonly string[] {
  if (command.commands.length > 0) return command.commands.flatMap(rowsOf);
  const names = command.parent === program ? command.name() : `${command.parent?.name()} ${command.name()}`;
  return [`| \`${names}\` | ${command.description()} |`];
}

it('lists each command under a heading', () => {
  const help = helpOf(program);
  const headings = new Set(program.commands.map((command) => command.helpGroup()));
  expect(headings.size).toBeGreaterThan(4);
  for (const heading of headings) expect(help).toContain(`\n${heading}\n`);
  expect(help).not.toContain('\nCommands:');
  for (const command of program.commands) expect(help).toContain(`\n  ${command.name()} `);
});

it('fits the help of each command in 80 columns', () => {
  const lines = withSubcommands(program).flatMap((command) => helpOf(command).split('\n'));
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
});

it('is what the page of commands lists', () => {
  const page = readFileSync(PAGE, 'utf8');
  const tables = [...new Set(program.commands.map((command) => command.helpGroup()))].map((heading) => {
    const rows = program.commands.filter((command) => command.helpGroup() === heading).flatMap(rowsOf);
    return `## ${heading.replace(/:$/, '')}\n\n| command | what it does |\n|---|---|\n${rows.join('\n')}\n`;
  });
  for (const table of tables) expect(page).toContain(table);
  expect(page.match(/^\| `/gm)).toHaveLength(program.commands.flatMap(rowsOf).length);
});
