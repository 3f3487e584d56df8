/** Carries out `workflow new`. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellWord } from '@autonomous/shared/presentation';
import { workflows } from '../../../workflows/index.ts';
import { withChildren } from '../../../workflows/workflow.ts';
import { startCommand } from '../../../server/start-command.ts';
import { CommandFailure, EXIT, UsageError } from '../../exit.ts';
import { type CliIo, say } from '../../io.ts';

/** Sources of the workflow and its test. */
const SKELETON = fileURLToPath(new URL('../../../../skeleton', import.meta.url));
/** The repository, where the program runs from its sources. */
const CHECKOUT = import.meta.url.endsWith('.ts') ? fileURLToPath(new URL('../../../../../../', import.meta.url)) : null;

/**
 * Writes a workflow to begin with into a folder that is empty or not there.
 * @param out Default: a folder of the workflow's name in the working directory
 * @throws {UsageError} for a name that no workflow can have
 * @throws {CommandFailure} when something lies in the folder
 */
export async function newWorkflow(io: CliIo, name: string, out: string = `./${name}`): Promise<number> {
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(name))
    throw new UsageError(
      `Workflow name '${name}' is invalid: begin with a letter and use at most 63 characters of a-z, 0-9 and '-'.`,
    );
  if (withChildren(workflows).some((workflow) => workflow.name === name))
    throw new UsageError(`The workflow '${name}' is built in; choose another name.`);
  const folder = path.resolve(io.cwd, out);
  const inside = entriesOf(folder);
  if (inside === null) throw new CommandFailure(`${folder} is a file. Name another folder with --out.`);
  if (inside.length > 0)
    throw new CommandFailure(
      `The folder ${folder} is not empty: it has ${inside.slice(0, 3).join(', ')}${inside.length > 3 ? ', …' : ''}. Nothing was written; name another folder with --out.`,
    );
  const files = await filesOf(name, out);
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text, { flag: 'wx' });
  say(io, [`Written to ${folder}: ${Object.keys(files).join(', ')}`, ...commandsFor(name, out)].join('\n'));
  return EXIT.done;
}

/** `null` for a file; empty for a folder that is not there. */
function entriesOf(folder: string): readonly string[] | null {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return null;
    throw error;
  }
}

/** The commands to go on: check it, start the server with it, run it. */
function commandsFor(name: string, out: string): readonly [check: string, serve: string, run: string] {
  const { program, serve } = startCommand();
  const file = shellWord(`${/^(?:\.{0,2}\/|~)/.test(out) ? out : `./${out}`}/workflow.ts`);
  const input = JSON.stringify({ changes: ['Add a name', 'Greet it'] });
  return [
    `${program} workflow check ${file}`,
    `AUTONOMOUS_WORKFLOWS=${file} ${serve}`,
    `${program} run --workflow ${name} --project PROJECT --input '${input}' 'Greet people'`,
  ];
}

async function filesOf(name: string, out: string): Promise<Readonly<Record<string, string>>> {
  const source = async (file: string) =>
    (await readFile(path.join(SKELETON, file), 'utf8')).replace('my-workflow', name);
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return {
    'workflow.ts': await source('workflow.ts'),
    'workflow.test.ts': await source('workflow-test.ts'),
    'package.json': json({
      name: `${name}-workflow`,
      version: '1.0.0',
      private: true,
      type: 'module',
      exports: './workflow.ts',
    }),
    'tsconfig.json': json(compilerOptions()),
    'README.md': readmeOf(name, out),
  };
}

/** For editors: the server itself strips the types. */
function compilerOptions(): object {
  const own = { noEmit: true, types: ['node'] };
  if (CHECKOUT === null)
    return {
      compilerOptions: {
        ...own,
        module: 'nodenext',
        target: 'esnext',
        strict: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        paths: {
          '@autonomous/orchestrator/workflow': [
            './node_modules/autonomous-orchestrator/types/orchestrator/workflow-library.d.ts',
          ],
        },
      },
    };
  const at = (file: string) => [path.join(CHECKOUT, file)];
  const modules = 'packages/orchestrator/node_modules';
  return {
    extends: path.join(CHECKOUT, 'tsconfig.base.json'),
    compilerOptions: {
      ...own,
      typeRoots: at('node_modules/@types'),
      paths: {
        '@autonomous/orchestrator/workflow': at('packages/orchestrator/src/workflow-library.ts'),
        '@autonomous/shared': at('packages/shared/src/index.ts'),
        xstate: at(`${modules}/xstate/dist/declarations/src/index.d.ts`),
        zod: at(`${modules}/zod/index.d.ts`),
      },
    },
    include: ['*.ts'],
  };
}

function readmeOf(name: string, out: string): string {
  const [check, serve, run] = commandsFor(name, out);
  const { program } = startCommand();
  return `# ${name}

A workflow for Autonomous. \`workflow.ts\` has its four functions, and \`workflow.test.ts\` drives them without a server.
The commands are those of the folder in which this one was made. Nothing has to be installed.

\`\`\`sh
${check}
${serve}
${run}
\`\`\`

The first names every fault for which a server would refuse the workflow, the second starts a server with it, and the third starts
a run and follows it. The tests:

\`\`\`sh
${program} workflow test ${check.slice(check.lastIndexOf(' ') + 1).replace('workflow.ts', 'workflow.test.ts')}
\`\`\`
`;
}
