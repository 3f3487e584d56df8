/** Reads what a person gives a command in files or as JSON. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type JsonObject, type RunConfigRequest, runConfigRequestSchema } from '@autonomous/shared';
import { UsageError } from '../exit.ts';
import type { CliIo } from '../io.ts';

/**
 * Reads a file as UTF-8.
 * @param path relative to the folder in which the person stands, or absolute
 * @throws {UsageError} when it cannot be read
 */
export async function readTextFile(io: CliIo, path: string): Promise<string> {
  return (await readBytes(io, path)).toString('utf8');
}

/** Reads a file as it is; path and error as in {@link readTextFile}. */
export async function readBytes(io: CliIo, path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(resolve(io.cwd, path));
  } catch (error) {
    throw new UsageError(unreadable(resolve(io.cwd, path), error), { cause: error });
  }
}

function unreadable(path: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT')
    return `There is no file ${path}. Name one that exists; the path starts in the current folder.`;
  if (code === 'EISDIR') return `${path} is a folder. Name a file in it.`;
  return `The file ${path} cannot be read (${code ?? String(error)}).`;
}

/**
 * An object given as JSON, or in a file as `@path`.
 * @param what names it in a fault
 */
export async function readJson(io: CliIo, given: string, what: string): Promise<JsonObject> {
  const text = given.startsWith('@') ? await readTextFile(io, given.slice(1)) : given;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${what} is not valid JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as JsonObject;
  throw new UsageError(`${what} is not a JSON object. Write it as '{"name": "value"}' or @FILE.`);
}

/** Reads a run configuration in JSON. @throws {UsageError} when it cannot be read, or naming everything that is wrong in it */
export async function readConfigFile(io: CliIo, path: string): Promise<RunConfigRequest> {
  const text = await readTextFile(io, path);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const parsed = runConfigRequestSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'whole file'}: ${issue.message}`);
  throw new UsageError(`${path} is not a valid run configuration:\n${faults.join('\n')}`);
}
