/** Words a parser's complaint about a diagram so that a model and a person can act on it. Pure. */

/** Error of one of Mermaid's parsers, with the details that it gave. */
export interface ParserComplaint {
  readonly message: string;
  /** Line of the text that the parser saw, from 1. */
  readonly line: number | null;
  readonly token: string | null;
  readonly expected: readonly string[];
}

export interface WordedFault {
  /** Line of the diagram, from 1; `null` when the parser named none. */
  readonly line: number | null;
  /** The fault and how to fix it, without the name of the diagram. */
  readonly problem: string;
}

/** The parsers' names for tokens, as a person types them. */
const TOKENS: Readonly<Record<string, string>> = {
  '1': 'the end of the diagram',
  EOF: 'the end of the diagram',
  EOF_IN_STRUCT: 'the end of the diagram',
  NEWLINE: 'the end of the line',
  NL: 'the end of the line',
  SPACE: 'a space',
  TXT: '": text"',
  TEXT: 'text',
  UNICODE_TEXT: 'text',
  STR: 'text in double quotes',
  NODE_STRING: 'a node id',
  ID: 'an id',
  NUM: 'a number',
  PS: '"("',
  PE: '")"',
  SQS: '"["',
  SQE: '"]"',
  PIPE: '"|"',
  AMP: '"&"',
  LINK: 'an arrow such as "-->"',
  START_LINK: 'an arrow such as "-->"',
  LINK_ID: 'the id of an arrow',
  COLON: '":"',
  COMMA: '","',
  MINUS: '"-"',
  MULT: '"*"',
  SEMI: '";"',
  LBRACE: '"{"',
  RBRACE: '"}"',
  STRUCT_STOP: '"}"',
  DIAMOND_START: '"{"',
  DIAMOND_STOP: '"}"',
  STADIUMSTART: '"(["',
  STADIUMEND: '"])"',
  SUBROUTINESTART: '"[["',
  SUBROUTINEEND: '"]]"',
  CYLINDERSTART: '"[("',
  CYLINDEREND: '")]"',
  DOUBLECIRCLESTART: '"((("',
  DOUBLECIRCLEEND: '")))"',
  TAGSTART: '"<"',
  TAGEND: '">"',
  TRAPEND: '"/]"',
  INVTRAPEND: '"\\]"',
};

/** Tokens with which a flowchart's node label ends; where they are expected, the parser is inside a label. */
const LABEL_ENDS: ReadonlySet<string> = new Set(['SQE', 'PE', 'DIAMOND_STOP', 'STADIUMEND', 'SUBROUTINEEND']);
const DIAGRAM_ENDS: ReadonlySet<string> = new Set(['1', 'EOF', 'EOF_IN_STRUCT']);
const SHOWN_TOKENS = 8;

/** Reads an error that Mermaid threw for a diagram. */
export function complaintOf(error: unknown): ParserComplaint {
  const { message, hash } = error as {
    message?: unknown;
    hash?: { token?: unknown; loc?: { first_line?: unknown }; expected?: unknown };
  };
  const line = hash?.loc?.first_line;
  return {
    message: String(message ?? error).slice(0, 2_000),
    line: typeof line === 'number' ? line : null,
    token: hash?.token === undefined ? null : String(hash.token).slice(0, 100),
    expected: Array.isArray(hash?.expected) ? hash.expected.slice(0, 50).map(String) : [],
  };
}

export function explainParserError(diagram: string, complaint: ParserComplaint): WordedFault {
  if (complaint.message.startsWith('No diagram type detected')) return unknownType(diagram);
  if (complaint.message.includes('call stack'))
    return { line: null, problem: 'it is nested too deeply to be parsed; draw it flatter' };
  const positions = keptLines(diagram);
  const seen = complaint.line ?? lineInMessage(complaint.message);
  const lineOf = (number: number): number | null => positions[Math.max(number, 1) - 1] ?? positions.at(-1) ?? null;
  const line = seen === null ? null : lineOf(seen);
  const source = line === null ? '' : (diagram.split(/\r\n?|\n/)[line - 1] ?? '').trim();
  const near = source === '' ? '' : `, in the line \`${cut(source, 120)}\``;
  if (complaint.expected.length === 0) {
    const message = complaint.message
      .replace(/^Parsing failed:/, '')
      .replace(/\bline (\d{1,6})/g, (whole, number: string) => `line ${lineOf(Number(number)) ?? whole}`);
    return { line, problem: `${cut(oneLine(message), 400).replace(/\.$/, '')}${near}` };
  }

  const expected = [...new Set(complaint.expected.map(bare).map(nameOf))];
  const shown = expected.slice(0, SHOWN_TOKENS).join(', ');
  const more = expected.length > SHOWN_TOKENS ? ' or others' : '';
  const token = bare(complaint.token ?? '');
  return {
    line,
    problem: `found ${nameOf(token)} where ${shown}${more} was expected${near}${hint(token, complaint.expected)}`,
  };
}

function unknownType(diagram: string): WordedFault {
  const lines = diagram.split(/\r\n?|\n/);
  const line = keptLines(diagram).find((number) => (lines[number - 1] ?? '').trim() !== '') ?? null;
  const first = line === null ? '' : (lines[line - 1] ?? '').trim();
  const named =
    first === '' ? 'it is empty' : `${JSON.stringify(cut(first, 80))} names no diagram type that Mermaid knows`;
  return {
    line,
    problem: `${named}; begin with one such as flowchart TD, sequenceDiagram, classDiagram, stateDiagram-v2 or erDiagram`,
  };
}

function hint(token: string, expected: readonly string[]): string {
  if (!expected.some((name) => LABEL_ENDS.has(bare(name)))) return '';
  return DIAGRAM_ENDS.has(token)
    ? '. The label is never closed: add its closing bracket'
    : '. Put a label that holds brackets or quotes in double quotes, such as A["Sign in (OAuth)"]';
}

/** The parsers number the lines that are left after Mermaid has taken out front matter, directives and comments. */
function keptLines(diagram: string): readonly number[] {
  const lines = diagram.split(/\r\n?|\n/);
  const kept: number[] = [];
  let at = 0;
  if (lines[0]?.trim() === '---') {
    const end = lines.findIndex((line, index) => index > 0 && line.trim() === '---');
    if (end !== -1) at = end + 1;
  }
  for (; at < lines.length; at++) {
    const line = lines[at]?.trim() ?? '';
    if (line.startsWith('%%') && !line.startsWith('%%{')) {
      // Mermaid's expression for a comment takes the blank lines before it along.
      while (kept.length > 0 && (lines[(kept.at(-1) ?? 0) - 1] ?? '').trim() === '') kept.pop();
      continue;
    }
    // A directive goes with what is inside it and leaves one line behind; nothing is left of it at the very top.
    const isDirective = line.startsWith('%%{');
    const first = at;
    if (isDirective) while (at < lines.length - 1 && !(lines[at] ?? '').includes('}%%')) at++;
    if (kept.length > 0 || (!isDirective && line !== '')) kept.push(first + 1);
  }
  return kept;
}

function lineInMessage(message: string): number | null {
  const found = /\bline (\d{1,6})/.exec(message)?.[1];
  return found === undefined ? null : Number(found);
}

function bare(token: string): string {
  return token.replace(/^'|'$/g, '');
}

function nameOf(token: string): string {
  if (token === '') return 'something';
  return Object.hasOwn(TOKENS, token) ? (TOKENS[token] ?? token) : token;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
