/** Files of a project as the search for its commands reads them. Texts are anybody's: they are read line by line. */
import { linesOf } from './named-paths.ts';

/** Files of one folder; paths are relative to it. */
export interface ProjectTree {
  readonly has: (path: string) => boolean;
  /** First path that passes, in the order of the alphabet. */
  readonly find: (passes: (path: string) => boolean) => Promise<string | undefined>;
  /** Empty where there is no such file. */
  readonly read: (path: string) => Promise<string>;
}

/** A command that a project's files ask for. */
export interface FoundCommand {
  /** For `sh -c` in the tree's folder. */
  readonly command: string;
  /** The file that it was found from. */
  readonly source: string;
  /** Programs that the command starts. A name behind `?` is optional: the command brings the program itself. */
  readonly programs: readonly string[];
  /** For people. */
  readonly notice?: string;
}

/**
 * Whether a line of the text passes. An expression that looks for its place in the whole text takes the square of its length.
 */
export function hasLine(text: string, passes: (line: string) => boolean): boolean {
  return linesOf(text).some(passes);
}

/** @returns `undefined` for what is no JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
