/** A Markdown document of an agent: text is text, its Mermaid blocks are drawn, and nothing in it is loaded or run. */
import { showHidden, splitHidden } from '@autonomous/shared';
import { splitDirections } from '@autonomous/shared/presentation';
import markdownIt from 'markdown-it';
import { type MouseEvent, useMemo } from 'react';
import { useConstraintMarks } from './constraints.tsx';
import { Diagram } from './diagram/diagram.tsx';

/** HTML in a document is shown as it is written. */
const markdown = markdownIt({ html: false, linkify: false, typographer: false });
const escapeHtml = markdown.utils.escapeHtml;
markdown.renderer.rules['link_open'] = (tokens, index, options, _env, self) => {
  tokens[index]?.attrSet('target', '_blank');
  tokens[index]?.attrSet('rel', 'noreferrer noopener');
  return self.renderToken(tokens, index, options);
};
// Text in a right-to-left script is aligned to the right.
for (const rule of ['paragraph_open', 'heading_open', 'list_item_open', 'th_open', 'td_open'])
  markdown.renderer.rules[rule] = (tokens, index, options, _env, self) => {
    tokens[index]?.attrSet('dir', 'auto');
    return self.renderToken(tokens, index, options);
  };
// An image would be a request to anywhere: it is words until somebody asks for it. One that the document itself holds is
// then shown; any other is a link, which says where it leads.
markdown.renderer.rules['image'] = (tokens, index) => {
  const token = tokens[index];
  const [address, name] = [String(token?.attrGet('src') ?? ''), token?.content ?? ''];
  const words = escapeHtml(`Image: ${name === '' ? 'without a name' : name}`);
  if (/^data:image\/(?:png|jpeg|gif|webp);base64,/i.test(address)) {
    return `<button type="button" class="link image" data-image="${escapeHtml(address)}">${words} (show)</button>`;
  }
  if (!/^https?:/i.test(address)) return `<span class="image">${words} (${escapeHtml(address)})</span>`;
  const href = escapeHtml(address);
  return `<a class="image" href="${href}" target="_blank" rel="noreferrer noopener">${words} (${href})</a>`;
};

// Escapes of hidden characters are set apart in text and code; `blocksOf` sees to all other places.
const marked = (text: string): string =>
  splitHidden(text)
    .map(({ text: part, isHidden }) => (isHidden ? `<span class="hidden-character">${part}</span>` : escapeHtml(part)))
    .join('');
// Words that are read from the right keep their place in code.
const markedCode = (text: string): string =>
  splitDirections(text)
    .map(({ text: part, isRightToLeft }) => (isRightToLeft ? `<bdi>${marked(part)}</bdi>` : marked(part)))
    .join('');
const { rules } = markdown.renderer;
rules['text'] = (tokens, index) => marked(tokens[index]?.content ?? '');
rules['code_inline'] = (tokens, index) => `<code>${markedCode(tokens[index]?.content ?? '')}</code>`;
rules['code_block'] = (tokens, index) => `<pre><code>${markedCode(tokens[index]?.content ?? '')}</code></pre>\n`;
rules['fence'] = (tokens, index) => {
  const [language = ''] = (tokens[index]?.info ?? '').trim().split(/\s+/, 1);
  const kind = language === '' ? '' : ` class="language-${escapeHtml(language)}"`;
  return `<pre><code${kind}>${markedCode(tokens[index]?.content ?? '')}</code></pre>\n`;
};

/** A longer one, in characters, is shown as it is written: looking for its links takes the square of its length. */
const MAX_PARAGRAPH = 10_000;
markdown.core.ruler.before('inline', 'long-paragraphs', ({ tokens }) => {
  for (const token of tokens) {
    if (token.type === 'inline' && token.content.length > MAX_PARAGRAPH) token.type = 'text';
  }
});

export type Block =
  | { readonly kind: 'text'; readonly html: string }
  /** `number` counts the document's diagrams from 1, as the server does where it names one. */
  | { readonly kind: 'diagram'; readonly source: string; readonly number: number };

/** Parts of a document, in its order. The HTML is safe to show: it holds what Markdown makes of text and no more. */
export function blocksOf(text: string): readonly Block[] {
  const body = text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, '');
  const blocks: Block[] = [];
  let pending: ReturnType<typeof markdown.parse> = [];
  let diagrams = 0;
  const flush = (): void => {
    if (pending.length > 0)
      blocks.push({ kind: 'text', html: showHidden(markdown.renderer.render(pending, markdown.options, {})) });
    pending = [];
  };
  for (const token of markdown.parse(body, {})) {
    if (token.type === 'fence' && token.level === 0 && /^mermaid\b/.test(token.info.trim())) {
      flush();
      blocks.push({ kind: 'diagram', source: token.content, number: (diagrams += 1) });
    } else {
      pending.push(token);
    }
  }
  flush();
  return blocks;
}

export function Document({ text, title }: { readonly text: string; readonly title: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  const marksOf = useConstraintMarks();
  return (
    <article className="document" onClick={showImage}>
      {blocks.map((block, index) =>
        block.kind === 'diagram' ? (
          <Diagram key={index} source={block.source} title={`${title}, diagram ${block.number}`} marksOf={marksOf} />
        ) : (
          <div key={index} dangerouslySetInnerHTML={{ __html: block.html }} />
        ),
      )}
    </article>
  );
}

function showImage({ target }: MouseEvent): void {
  if (!(target instanceof HTMLButtonElement)) return;
  const address = target.dataset['image'];
  if (address === undefined) return;
  const image = document.createElement('img');
  image.src = address;
  image.alt = target.textContent.replace(/ \(show\)$/, '');
  target.replaceWith(image);
}
