import path from 'node:path';
import { expect, it } from 'vitest';
import { createProgram } from '../src/cli/program.ts';
import type { CliIo } from '../src/cli/io.ts';
import { readPackages, type SourceFile } from './layers.ts';

const COMMANDS = createProgram({ program: 'autonomous' } as CliIo, () => {}).commands.map((command) => command.name());
/** A command as only those can give it who installed the program under its own name. */
const LITERAL = new RegExp(String.raw`\bautonomous (?:${COMMANDS.join('|')})\b(?!-)`);

/** Lines of sources that name such a command, comments and tests left out. */
function findLiteralCommands(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path: file }) => /^[^/]+\/src\//.test(file) && !/\.(?:test|fixture|contract)\.tsx?$/.test(file))
    .flatMap(({ path: file, source }) =>
      source.split('\n').flatMap((line, index) => {
        const found = /^\s*(?:\/?\*|\/\/)/.test(line) ? null : LITERAL.exec(line);
        return found === null ? [] : [`${file}:${index + 1}: ${found[0]}`];
      }),
    );
}

it('texts name a command as this installation starts it (startCommand, io.program), or as "the command X"', () => {
  const files = readPackages(path.join(import.meta.dirname, '..', '..'));
  expect(files.length).toBeGreaterThan(20);
  expect(findLiteralCommands(files)).toEqual([]);
});

it('a literal command is found in a text, and not in a comment or a test', () => {
  const source = '/** See autonomous keys. */\nconst way = `give it with: autonomous keys set ${id}`;\n';
  const found = (file: string) => findLiteralCommands([{ path: file, source }]);
  expect(found('orchestrator/src/models/registry.ts')).toEqual([
    'orchestrator/src/models/registry.ts:2: autonomous keys',
  ]);
  expect(found('orchestrator/src/models/registry.test.ts')).toEqual([]);
});
