/**
 * LaTeX from nunjucks templates with `<< value >>` and `<% block %>`. All text that a template is given is escaped before the
 * template sees it, so that no template can forget to. Only a `Tex` is source.
 */
import type { Environment } from 'nunjucks';
import { texText } from './escape.ts';
import { Tex } from './tex.ts';

export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | Tex
  | readonly TemplateValue[]
  | { readonly [name: string]: TemplateValue };

let environment: Environment | undefined;

/**
 * @param template source of a template of ours
 * @throws {Error} when the template uses a value that is not given
 */
export async function renderTemplate(
  template: string,
  values: Readonly<Record<string, TemplateValue>>,
): Promise<string> {
  environment ??= await newEnvironment();
  return environment.renderString(template, escaped(values) as Record<string, unknown>);
}

async function newEnvironment(): Promise<Environment> {
  const nunjucks = await import('nunjucks');
  return new nunjucks.Environment(null, {
    // It would escape for HTML.
    autoescape: false,
    throwOnUndefined: true,
    trimBlocks: true,
    lstripBlocks: true,
    tags: {
      blockStart: '<%',
      blockEnd: '%>',
      variableStart: '<<',
      variableEnd: '>>',
      commentStart: '<#',
      commentEnd: '#>',
    },
  });
}

function escaped(value: TemplateValue): unknown {
  if (typeof value === 'string') return texText(value).source;
  if (value instanceof Tex) return value.source;
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, escaped(each)]));
}
