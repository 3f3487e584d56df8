/** A Markdown document of an agent: text is text, its Mermaid blocks are drawn, and nothing in it is loaded or run. */
import markdownIt from 'markdown-it';
import { useMemo } from 'react';
import { Diagram } from './diagram.tsx';

/** HTML in a document is shown as it is written. Images would be requests to anywhere. */
const markdown = markdownIt({ html: false, linkify: false, typographer: false }).disable('image');
markdown.renderer.rules['link_open'] = (tokens, index, options, _env, self) => {
  tokens[index]?.attrSet('target', '_blank');
  tokens[index]?.attrSet('rel', 'noreferrer noopener');
  return self.renderToken(tokens, index, options);
};

export type Block =
  | { readonly kind: 'text'; readonly html: string }
  | { readonly kind: 'diagram'; readonly source: string };

/** Parts of a document, in its order. The HTML is safe to show: it holds what Markdown makes of text and no more. */
export function blocksOf(text: string): readonly Block[] {
  const body = text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, '');
  const blocks: Block[] = [];
  let pending: ReturnType<typeof markdown.parse> = [];
  const flush = (): void => {
    if (pending.length > 0)
      blocks.push({ kind: 'text', html: markdown.renderer.render(pending, markdown.options, {}) });
    pending = [];
  };
  for (const token of markdown.parse(body, {})) {
    if (token.type === 'fence' && token.level === 0 && /^mermaid\b/.test(token.info.trim())) {
      flush();
      blocks.push({ kind: 'diagram', source: token.content });
    } else {
      pending.push(token);
    }
  }
  flush();
  return blocks;
}

export function Document({ text, title }: { readonly text: string; readonly title: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <article className="document">
      {blocks.map((block, index) =>
        block.kind === 'diagram' ? (
          <Diagram key={index} source={block.source} title={`${title}, diagram`} />
        ) : (
          <div key={index} dangerouslySetInnerHTML={{ __html: block.html }} />
        ),
      )}
    </article>
  );
}
