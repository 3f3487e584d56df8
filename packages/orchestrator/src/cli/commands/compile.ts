/** The command `compile`: a document of a run, as it is now, as PDF. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type CompiledDocument, InvalidRequest } from '@autonomous/shared';
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, note, say } from '../io.ts';

interface CompileOptions extends ServerOptions {
  readonly document?: string;
  readonly out?: string;
}

export function addCompile(line: CommandLine): void {
  line
    .client('compile <run>', 'compiles the report or plan of a run, as it is now, to a PDF')
    .option('--document <type>', 'which PDF, where the run has several')
    .option('--out <file>', 'where to, also over a file that is there; else into this folder, under its own name')
    .action(line.ending((runId: string, options: CompileOptions) => compile(line.io, runId, options)));
}

async function compile(io: CliIo, runId: string, { server, document, out }: CompileOptions): Promise<number> {
  const compiled = await (await connect(io, server)).compileDocument(runId, document);
  const { outcome, fileName, content, pages = 0 } = compiled;
  if (outcome !== 'compiled' || content === undefined) {
    for (const text of whyNot(compiled)) note(io, text);
    return EXIT.notDone;
  }
  const file = resolve(io.cwd, out ?? fileName);
  await write(file, Buffer.from(content, 'base64'), out !== undefined);
  say(io, `${file} (${pages} ${pages === 1 ? 'page' : 'pages'})`);
  return EXIT.done;
}

function whyNot({ outcome, fileName, errors = [], missing = [] }: CompiledDocument): readonly string[] {
  if (outcome === 'failed') return [`LaTeX does not compile ${fileName}:`, ...errors.map((error) => `  ${error}`)];
  return [
    `There is no LaTeX where commands run, so that ${fileName} cannot be compiled. Missing: ${missing.join(', ')}.`,
    'On Debian: apt-get install texlive-latex-extra lmodern latexmk',
  ];
}

async function write(file: string, bytes: Uint8Array, overwrites: boolean): Promise<void> {
  try {
    await writeFile(file, bytes, { flag: overwrites ? 'w' : 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new InvalidRequest(`${file} is there already. Name it, or another file, with --out.`, { cause });
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidRequest(`${file} cannot be written (${why}). Name a file in a folder that is there, with --out.`, {
      cause,
    });
  }
}
