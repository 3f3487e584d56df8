/**
 * Tests that stand in a file of the product: Vitest's `import.meta.vitest`, Rust's `#[cfg(test)]`, examples of documentation that
 * a runner tries. Where the tests are one block at the end of the file, as formatters and linters want it, a check with the base
 * commit's tests has the base's block in the place of the result's. Pure.
 */

const VITEST = /import[.]meta[.]vitest/;
const RUST = /#\[[\w:]{0,60}test|#!?\[cfg(?:_attr)?\([^\]\n]{0,200}\btest\b|cfg!\([^)\n]{0,200}\btest\b/;
/** Macros that Rust's tests judge by: one of the file's own stands before the standard one. */
const RUST_JUDGES = /macro_rules!\s*(?:debug_)?(?:assert|panic|unreachable)/;
const JAVASCRIPT = /[.][cm]?[jt]sx?$|[.](?:vue|svelte)$/;

export type InSourceTests =
  /** The file as it is to be checked; the result's own text where its tests are the base's. */
  | { readonly kind: 'restored'; readonly text: string }
  /** The tests changed and cannot be told from the product. */
  | { readonly kind: 'doubtful' };

/** Does a file of the product hold tests beside it? */
export function holdsTests(path: string, text: string): boolean {
  return formOf(path)?.marks.some((mark) => mark.test(text)) === true;
}

/**
 * @param base text of the file on the base commit, and `result` that of the run's result
 * @returns `null` where the base has no tests in the file
 */
export function restoreInSourceTests(path: string, base: string, result: string): InSourceTests | null {
  const form = formOf(path);
  if (form === null || !holdsTests(path, base)) return null;
  const before = partsOf(base, form);
  const after = partsOf(result, form);
  if (before === null || after === null || before.marks !== after.marks) return { kind: 'doubtful' };
  if (before.tests === after.tests) return { kind: 'restored', text: result };
  if (before.tests === '') return { kind: 'restored', text: after.product };
  const gap = after.product === '' || after.product.endsWith('\n') ? '' : '\n';
  return { kind: 'restored', text: `${after.product}${gap}${before.tests}` };
}

interface Form {
  /** Begins the block of tests, at the start of a line. */
  readonly opens: RegExp;
  /** Patterns of lines that are about tests. */
  readonly marks: readonly RegExp[];
}

function formOf(path: string): Form | null {
  if (path.endsWith('.rs'))
    return {
      opens: /^#\[cfg\(test\)\]\r?\n(?:#\[[^\]\n]*\]\r?\n){0,20}(?:pub(?:\(\w+\))? )?mod \w+ \{/m,
      marks: [RUST, RUST_JUDGES],
    };
  if (JAVASCRIPT.test(path)) return { opens: /^if \(import[.]meta[.]vitest\b[^\n]*\) \{/m, marks: [VITEST] };
  return null;
}

interface Parts {
  readonly product: string;
  /** Empty where no block ends the file. */
  readonly tests: string;
  /** Items of the product part that are about tests all the same. */
  readonly marks: string;
}

function partsOf(text: string, { opens, marks }: Form): Parts | null {
  const start = opens.exec(text)?.index ?? text.length;
  const tests = text.slice(start);
  // One brace that closes a block of the file, and nothing behind it.
  if (tests !== '' && (!/\n\}\s*$/.test(tests) || (tests.match(/^\}/gm) ?? []).length !== 1)) return null;
  const product = text.slice(0, start);
  const lines = product.split(/\r?\n/);
  const marked: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (!marks.some((mark) => mark.test(lines[at] ?? ''))) continue;
    const item = itemAt(lines, at);
    marked.push(...item);
    // A mark within an item is part of it.
    at += Math.max(0, item.length - 1);
  }
  return { product, tests, marks: marked.join('\n') };
}

/** The item that begins on a line: to its semicolon, or to the brace that closes it. */
function itemAt(lines: readonly string[], at: number): readonly string[] {
  const indent = /^\s*/.exec(lines[at] ?? '')?.[0] ?? '';
  const length = lines.slice(at).findIndex((line, index) => {
    if (/^\s*#!?\[/.test(line) && !/\]\s*\S/.test(line)) return false;
    const isClosed = line.startsWith(`${indent}}`) && !line.trimEnd().endsWith('{');
    return isClosed || (line.trimEnd().endsWith(';') && (index === 0 || line.search(/\S/) === indent.length));
  });
  return length < 0 ? lines.slice(at) : lines.slice(at, at + length + 1);
}

/**
 * The examples in a file's documentation that a runner tries: those of Python's doctest, or of Rust's comments.
 * @returns lines, empty where there are none
 */
export function examplesOf(path: string, text: string): readonly string[] {
  return path.endsWith('.rs') ? examplesOfRust(text) : examplesOfPython(text);
}

function examplesOfPython(text: string): readonly string[] {
  const found: string[] = [];
  let isExample = false;
  for (const line of text.split(/\r\n|\r|\n/).map((each) => each.trim())) {
    if (line.startsWith('>>>')) isExample = true;
    else if (line === '' || /^(?:"""|''')/.test(line)) isExample = false;
    if (isExample) found.push(line);
  }
  return found;
}

function examplesOfRust(text: string): readonly string[] {
  const found: string[] = [];
  let fence: 'none' | 'code' | 'text' = 'none';
  for (const line of text.split(/\r\n|\r|\n/)) {
    const comment = /^\s*\/\/[/!] ?(.*)$/.exec(line)?.[1];
    if (comment === undefined) fence = 'none';
    else if (comment.trimStart().startsWith('```'))
      fence = fence !== 'none' ? 'none' : /text|ignore|console|toml|json|sh\b/.test(comment) ? 'text' : 'code';
    else if (fence === 'code') found.push(comment.trimEnd());
  }
  return found;
}
