/** The tools with which an agent reads and changes a project. All of them act inside the sandbox. */
import { InvalidRequest } from '@autonomous/shared';
import { z } from 'zod';
import type { ToolName } from '../../roles/role.ts';
import type { Sandbox } from '../../sandboxes/sandbox.ts';
import { listSandboxFiles, readSandboxFile, searchSandbox, writeSandboxFile } from '../../sandboxes/sandbox-files.ts';

export type SandboxToolName = Exclude<ToolName, 'ask'>;

export interface SandboxTool<Input> {
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** Line that a person sees while the tool runs. */
  title(input: Input): string;
  /**
   * @returns what the model is told
   * @throws {InvalidRequest} with words for the model, which can do better; anything else is no matter of the model
   */
  perform(input: Input, sandbox: Sandbox, signal: AbortSignal): Promise<string>;
}

/** Figures that keep one result from filling a model's context. */
const READ_LINES = 1_000;
const READ_CHARACTERS = 60_000;
const LISTED_PATHS = 1_000;
const MATCHES = 100;
const COMMAND_CHARACTERS = 20_000;

const COMMAND_SECONDS = 120;
const LONGEST_COMMAND_SECONDS = 900;

const path = z.string().min(1).max(1_024).describe('Path relative to the project folder, such as src/main.ts');

export const SANDBOX_TOOLS = {
  read: tool({
    description: `Reads a text file; each line is shown with its number. At most ${READ_LINES} lines at a time.`,
    input: z.object({
      path,
      offset: z.number().int().min(1).optional().describe('First line to show, from 1'),
      limit: z.number().int().min(1).max(READ_LINES).optional().describe('Lines to show'),
    }),
    title: (input) => `read ${input.path}`,
    async perform(input, sandbox) {
      return numbered(await existingFile(sandbox, input.path), input.offset ?? 1, input.limit ?? READ_LINES);
    },
  }),

  write: tool({
    description: 'Writes a whole file, new or in place of the old one; folders above it are made.',
    input: z.object({ path, content: z.string().describe('The whole content') }),
    title: ({ path: file, content }) =>
      `write ${file} (${countLines(content) === 1 ? '1 line' : `${countLines(content)} lines`})`,
    async perform(input, sandbox) {
      await writeSandboxFile(sandbox, writablePath(input.path), input.content);
      return `Wrote ${input.path}, ${countLines(input.content)} lines.`;
    },
  }),

  edit: tool({
    description:
      'Replaces one piece of a file. oldText has to be in the file exactly once, letter by letter, with its indentation.',
    input: z.object({
      path,
      oldText: z.string().min(1).describe('What is there now, without line numbers'),
      newText: z.string().describe('What is to be there instead'),
    }),
    title: (input) => `edit ${input.path}`,
    async perform(input, sandbox) {
      const file = writablePath(input.path);
      const content = await existingFile(sandbox, file);
      await writeSandboxFile(sandbox, file, replaceOnce(content, input));
      return `Changed ${input.path} at line ${lineAt(content, content.indexOf(input.oldText))}.`;
    },
  }),

  list: tool({
    description: 'Lists all files of a folder and the folders in it, without what is installed or generated.',
    input: z.object({ path: path.optional().describe('Folder; the whole project when left out') }),
    title: (input) => `list ${input.path ?? '.'}`,
    async perform(input, sandbox) {
      const { paths, truncated } = await listSandboxFiles(sandbox, insidePath(input.path ?? '.'));
      if (paths.length === 0) return 'There are no files.';
      const rest =
        paths.length > LISTED_PATHS || truncated
          ? `\n(only the first ${Math.min(paths.length, LISTED_PATHS)}; list a folder to see more)`
          : '';
      return paths.slice(0, LISTED_PATHS).join('\n') + rest;
    },
  }),

  search: tool({
    description: `Searches files for lines that match an extended regular expression (grep -E). At most ${MATCHES} matches.`,
    input: z.object({
      pattern: z.string().min(1).max(1_000),
      path: path.optional().describe('File or folder; the whole project when left out'),
    }),
    title: (input) => `search ${input.pattern}`,
    async perform(input, sandbox) {
      const { matches, truncated } = await searchSandbox(sandbox, input.pattern, {
        folder: insidePath(input.path ?? '.'),
        limit: MATCHES,
      });
      if (matches.length === 0) return 'No line matches.';
      const rest = truncated ? `\n(only the first ${matches.length}; make the pattern or the path narrower)` : '';
      return matches.map((match) => `${match.path}:${match.line}: ${match.text.trim()}`).join('\n') + rest;
    },
  }),

  run: tool({
    description: `Runs a shell command (sh -c) in the project folder, without input, and shows its exit code and output. It is killed after timeoutSeconds (${COMMAND_SECONDS} when left out).`,
    input: z.object({
      command: z.string().min(1).max(10_000),
      timeoutSeconds: z.number().int().min(1).max(LONGEST_COMMAND_SECONDS).optional(),
    }),
    title: (input) => `run ${input.command}`,
    async perform(input, sandbox, signal) {
      const timeoutMs = (input.timeoutSeconds ?? COMMAND_SECONDS) * 1_000;
      const result = await sandbox.run({ command: input.command, timeoutMs, signal });
      signal.throwIfAborted();
      const end = result.timedOut
        ? `Killed after ${timeoutMs / 1_000} s.`
        : result.exitCode === null
          ? 'Killed.'
          : `Exit code ${result.exitCode}.`;
      const output = [section('stdout', result.stdout), section('stderr', result.stderr)].filter((part) => part !== '');
      return [end, ...(output.length === 0 ? ['No output.'] : output)].join('\n');
    },
  }),
} as const satisfies Record<SandboxToolName, unknown>;

/** Only lets the type checker tie `perform` to `input`. */
function tool<Input>(definition: SandboxTool<Input>): SandboxTool<Input> {
  return definition;
}

async function existingFile(sandbox: Sandbox, file: string): Promise<string> {
  const content = await readSandboxFile(sandbox, insidePath(file));
  if (content === null) throw new InvalidRequest(`There is no file "${file}". Use list or search to find it.`);
  return content;
}

/** Models often name the folder that the project lies in. */
function insidePath(file: string): string {
  const inside = file.replace(/^\/workspace(?:\/+|$)/, '');
  return inside === '' ? '.' : inside;
}

function writablePath(file: string): string {
  const inside = insidePath(file);
  if (/^(?:\.\/+)*\.autonomous(?:\/|$)/.test(inside)) {
    throw new InvalidRequest(
      `"${file}" lies in .autonomous/, which belongs to the orchestrator; nothing written there is kept.`,
    );
  }
  return inside;
}

function numbered(content: string, offset: number, limit: number): string {
  if (content === '') return '(the file is empty)';
  const lines = content.replace(/\r?\n$/, '').split(/\r?\n/);
  if (offset > lines.length)
    throw new InvalidRequest(`The file has ${lines.length} lines, so there is no line ${offset}.`);
  const shown: string[] = [];
  let characters = 0;
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const text = `${String(offset + index).padStart(6)}\t${cut(line, 2_000)}`;
    characters += text.length + 1;
    if (characters > READ_CHARACTERS && shown.length > 0) break;
    shown.push(text);
  }
  const last = offset + shown.length - 1;
  const note =
    offset > 1 || last < lines.length
      ? `\n(lines ${offset} to ${last} of ${lines.length}${last < lines.length ? `; go on with offset ${last + 1}` : ''})`
      : '';
  return shown.join('\n') + note;
}

function replaceOnce(
  content: string,
  input: { readonly path: string; readonly oldText: string; readonly newText: string },
): string {
  if (input.oldText === input.newText)
    throw new InvalidRequest('oldText and newText are the same; nothing would change.');
  const at = content.indexOf(input.oldText);
  if (at === -1) {
    const hint =
      content.includes('\r\n') && content.replaceAll('\r\n', '\n').includes(input.oldText)
        ? ' Its lines end in CRLF: write \\r\\n in oldText and newText.'
        : ' Read the file again and copy the text exactly, without the line numbers.';
    throw new InvalidRequest(`oldText is not in "${input.path}".${hint}`);
  }
  const second = content.indexOf(input.oldText, at + 1);
  if (second !== -1) {
    throw new InvalidRequest(
      `oldText is in "${input.path}" more than once (lines ${lineAt(content, at)} and ${lineAt(content, second)}). Take more of the lines around it, so that it is there only once.`,
    );
  }
  return content.slice(0, at) + input.newText + content.slice(at + input.oldText.length);
}

function lineAt(content: string, index: number): number {
  return content.slice(0, index).split('\n').length;
}

function countLines(content: string): number {
  return content === '' ? 0 : content.replace(/\n$/, '').split('\n').length;
}

function section(name: string, output: string): string {
  const text = output.trimEnd();
  if (text === '') return '';
  const half = COMMAND_CHARACTERS / 2;
  const kept =
    text.length <= COMMAND_CHARACTERS
      ? text
      : `${text.slice(0, half)}\n[… ${text.length - COMMAND_CHARACTERS} characters left out …]\n${text.slice(-half)}`;
  return `${name}:\n${kept}`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)} [… ${text.length - length} more characters]`;
}
