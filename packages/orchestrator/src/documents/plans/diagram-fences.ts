/**
 * Locates the diagrams of a plan: the `mermaid` fences of its Markdown, or the whole text if it is one bare diagram.
 */

export interface DiagramSource {
  /** Mermaid text, without the fence's own indentation. */
  readonly text: string;
  /** Line of the plan, from 1, that holds the diagram's first line. */
  readonly firstLine: number;
}

export type FoundDiagrams =
  | { readonly ok: true; readonly diagrams: readonly DiagramSource[] }
  | { readonly ok: false; readonly message: string; readonly line: number | null; readonly diagram: number | null };

/** First words of the diagram types that Mermaid knows; `-beta` and `-v2` endings are understood too. */
const DIAGRAM_KEYWORD =
  /^(?:flowchart(?:-elk)?|graph|sequenceDiagram|classDiagram|stateDiagram|erDiagram|C4(?:Context|Container|Component|Dynamic|Deployment)|architecture|requirementDiagram|requirement|mindmap|gantt|journey|pie|gitGraph|timeline|quadrantChart|xychart|block|packet|kanban|sankey|radar|treemap|zenuml)(?:-(?:beta|v2))?(?=[\s:;]|$)/;

/**
 * Finds the diagrams of a plan in the order in which they stand there.
 * @returns not ok, with words that say what to write, when there is none or a fence is left open
 */
export function findDiagrams(markdown: string): FoundDiagrams {
  const lines = markdown.split(/\r\n?|\n/);
  const diagrams: DiagramSource[] = [];
  let open: Fence | null = null;
  let hiddenAt: { readonly line: number; readonly outer: number } | null = null;

  for (const [index, line] of lines.entries()) {
    if (open === null) {
      open = openingFence(line, index + 1);
    } else if (closes(line, open)) {
      if (open.isMermaid) diagrams.push({ text: open.lines.join('\n'), firstLine: open.line + 1 });
      open = null;
    } else {
      if (!open.isMermaid && openingFence(line, 0)?.isMermaid) hiddenAt ??= { line: index + 1, outer: open.line };
      open.lines.push(withoutIndent(line, open.indent));
    }
  }

  if (open?.isMermaid) {
    return {
      ok: false,
      message: `Diagram ${diagrams.length + 1} begins on line ${open.line} of the plan and its fence is never closed; end it with a line of ${open.marker.repeat(open.length)}.`,
      line: open.line,
      diagram: diagrams.length + 1,
    };
  }
  if (diagrams.length > 0) return { ok: true, diagrams };
  if (isBareDiagram(markdown)) return { ok: true, diagrams: [{ text: markdown, firstLine: 1 }] };
  if (hiddenAt !== null) {
    return {
      ok: false,
      message: `The mermaid fence on line ${hiddenAt.line} of the plan lies inside the code fence that begins on line ${hiddenAt.outer}, so it is no diagram; close or remove the outer fence.`,
      line: hiddenAt.line,
      diagram: null,
    };
  }
  return {
    ok: false,
    message: 'The plan holds no diagram; write at least one fence that begins with ```mermaid and ends with ```.',
    line: null,
    diagram: null,
  };
}

/** True for a text that is one Mermaid diagram without any Markdown around it. */
export function isBareDiagram(text: string): boolean {
  const lines = text.split(/\r\n?|\n/).map((line) => line.trim());
  let at = lines.findIndex((line) => line !== '');
  if (at !== -1 && lines[at] === '---') at = lines.indexOf('---', at + 1) + 1;
  if (at <= 0 && lines[0] === '---') return false;
  const first = lines.slice(Math.max(at, 0)).find((line) => line !== '' && !line.startsWith('%%'));
  return first !== undefined && DIAGRAM_KEYWORD.test(first) && !text.includes('```');
}

interface Fence {
  readonly marker: '`' | '~';
  readonly length: number;
  readonly indent: number;
  readonly isMermaid: boolean;
  readonly line: number;
  readonly lines: string[];
}

function openingFence(line: string, number: number): Fence | null {
  const text = line.trimStart();
  const marker = text[0];
  if (marker !== '`' && marker !== '~') return null;
  const length = runLength(text, marker);
  const info = text.slice(length).trim();
  // CommonMark: a backtick in the info string makes it inline code.
  if (length < 3 || (marker === '`' && info.includes('`'))) return null;
  const language = info.split(/[\s{,]/, 1)[0]?.toLowerCase();
  return {
    marker,
    length,
    indent: line.length - text.length,
    isMermaid: language === 'mermaid',
    line: number,
    lines: [],
  };
}

function closes(line: string, fence: Fence): boolean {
  const text = line.trim();
  const length = runLength(text, fence.marker);
  return length >= fence.length && length === text.length;
}

function runLength(text: string, marker: string): number {
  let length = 0;
  while (text[length] === marker) length++;
  return length;
}

function withoutIndent(line: string, indent: number): string {
  let at = 0;
  while (at < indent && (line[at] === ' ' || line[at] === '\t')) at++;
  return line.slice(at);
}
