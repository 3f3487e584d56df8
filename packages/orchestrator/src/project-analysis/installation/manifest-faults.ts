/** Manifests that no tool can read: where their text stops being JSON or TOML. Runs in the worker of `foreign-text.ts`. */
import { parse as parseJson, type ParseError, printParseErrorCode } from 'jsonc-parser';
import { parse as parseToml, TomlError } from 'smol-toml';

export interface ManifestFault {
  readonly path: string;
  /** Counted from 1; `null` where the parser names none. */
  readonly line: number | null;
  readonly message: string;
}

/** Manifests in the root that decide about commands. */
export const CHECKED_MANIFESTS: readonly string[] = ['package.json', 'composer.json', 'pyproject.toml', 'Cargo.toml'];

/** @param texts texts of manifests by path */
export function manifestFaults(texts: ReadonlyMap<string, string>): readonly ManifestFault[] {
  return [...texts].flatMap(([path, text]) => {
    const fault = path.endsWith('.json') ? jsonFault(text) : tomlFault(text);
    return fault === null ? [] : [{ path, ...fault }];
  });
}

type Fault = Omit<ManifestFault, 'path'>;

function jsonFault(text: string): Fault | null {
  const errors: ParseError[] = [];
  const plain = text.replace(/^\ufeff/, '');
  try {
    parseJson(plain, errors, { disallowComments: true });
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
    return { line: null, message: 'it is nested too deep' };
  }
  const [first] = errors;
  if (first === undefined) return null;
  return { line: plain.slice(0, first.offset).split('\n').length, message: describeParseError(first) };
}

/** `PropertyNameExpected` becomes "property name expected". */
function describeParseError({ error }: ParseError): string {
  return printParseErrorCode(error)
    .replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

function tomlFault(text: string): Fault | null {
  try {
    parseToml(text.replace(/^\ufeff/, ''));
    return null;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ''] = error.message.split('\n');
    return { line: error.line, message: first.replace('Invalid TOML document: ', '').slice(0, 200) };
  }
}
