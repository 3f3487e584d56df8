/** Prose of agents as LaTeX: its subset of Markdown as commands, its citations of findings as citations of their sources. Pure. */
import { tex, texCode, texText, texUrl, webAddress } from './escape.ts';
import { type Block, type Inline, inlinesOf, parseProse } from './prose.ts';
import { joinTex, Tex } from './tex.ts';

/** Gives LaTeX for the things that prose refers to. */
export interface Citations {
  /** Keys of the sources of a finding; `null`: there is no such finding. */
  keysOf(id: string): readonly string[] | null;
  /** True for the address of a source. Other addresses are shown without a link. */
  isSource(address: string): boolean;
}

const LINE = 100;

/** Blocks with an empty line between them. Each block or item is preceded by a comment for each finding that it cites. */
export function proseTex(text: string, citations: Citations): Tex {
  return joinTex(
    parseProse(text).map((block) => blockTex(block, citations)),
    '\n\n',
  );
}

/** `\citep` of the sources of findings, each once; nothing where they have none. */
export function citationOf(ids: readonly string[], citations: Citations): Tex {
  const keys = [...new Set(ids.flatMap((id) => citations.keysOf(id) ?? []))];
  return new Tex(keys.length === 0 ? '' : `\\citep{${keys.join(',')}}`);
}

/** Comment lines that name the findings, for those who check or edit the source. */
export function findingComments(ids: readonly string[]): Tex {
  return new Tex(ids.map((id) => `% finding ${id}\n`).join(''));
}

/** Source with its lines broken at spaces; LaTeX takes both for the same. Nothing in it may be verbatim. */
export function wrapped({ source }: Tex): Tex {
  return new Tex(source.split('\n').map(wrappedLine).join('\n'));
}

function wrappedLine(line: string): string {
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + word.length >= LINE) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current].join('\n');
}

function blockTex(block: Block, citations: Citations): Tex {
  switch (block.kind) {
    case 'paragraph':
      return tex`${commentsOf([block])}${wrapped(inlineTex(block.content, citations))}`;
    case 'heading':
      return tex`${commentsOf([block])}\paragraph*{${inlineTex(block.content, citations)}}`;
    case 'list':
      return listTex(block, citations);
    case 'code':
      return codeBlock(block.lines);
    default:
      block satisfies never;
      return new Tex('');
  }
}

function listTex({ ordered, items }: Block & { readonly kind: 'list' }, citations: Citations): Tex {
  const name = new Tex(ordered ? 'enumerate' : 'itemize');
  const lines = items.map(
    (item) => tex`${commentsOf([{ kind: 'paragraph', content: item }])}\item ${wrapped(inlineTex(item, citations))}`,
  );
  return tex`\begin{${name}}
${joinTex(lines, '\n')}
\end{${name}}`;
}

function codeBlock(lines: readonly string[]): Tex {
  const shown = lines.map((line) => {
    const indent = line.length - line.trimStart().length;
    return new Tex(`\\mbox{}${'~'.repeat(indent)}${texCode(line).source}`);
  });
  return tex`\begin{quote}\footnotesize\raggedright
${joinTex(shown, '\\\\\n')}
\end{quote}`;
}

function commentsOf(blocks: readonly Block[]): Tex {
  const ids = inlinesOf(blocks).flatMap((inline) => (inline.kind === 'findings' ? inline.ids : []));
  return findingComments([...new Set(ids)]);
}

function inlineTex(inlines: readonly Inline[], citations: Citations): Tex {
  return joinTex(
    inlines.map((inline) => oneInline(inline, citations)),
    '',
  );
}

function oneInline(inline: Inline, citations: Citations): Tex {
  switch (inline.kind) {
    case 'text':
      return withSpaces(inline.text);
    case 'code':
      return texCode(inline.text);
    case 'strong':
      return tex`\textbf{${inlineTex(inline.content, citations)}}`;
    case 'emphasis':
      return tex`\emph{${inlineTex(inline.content, citations)}}`;
    case 'findings':
      return citationOf(inline.ids, citations);
    case 'address':
      return addressTex(inline, citations);
    default:
      inline satisfies never;
      return new Tex('');
  }
}

/** `texText` leaves out the spaces at the ends, which separate this text from what is beside it. */
function withSpaces(text: string): Tex {
  const shown = texText(text);
  if (shown.source === '') return new Tex(/\s/.test(text) ? ' ' : '');
  return tex`${new Tex(/^\s/.test(text) ? ' ' : '')}${shown}${new Tex(/\s$/.test(text) ? ' ' : '')}`;
}

/** The address is shown in any case: a reader of the printed page cannot see where a text leads. */
function addressTex({ address, label }: Inline & { readonly kind: 'address' }, citations: Citations): Tex {
  const plain = webAddress(address);
  const shown = plain !== null && citations.isSource(address) ? texUrl(address) : texCode(address);
  return label === undefined || label === address ? shown : tex`${texText(label)} (${shown})`;
}
