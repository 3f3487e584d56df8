import { createRequire } from 'node:module';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { installLocked } from './locked-folder.mjs';

let whySlow;
beforeAll(async () => {
  installLocked(path.join(import.meta.dirname, 'lint'));
  ({ whySlow } = await import('./lint/slow-expressions.mjs'));
});

describe('the rule against slow expressions', () => {
  it.each([
    [/\s+$/],
    [/([^\0]+)\0(\d+):(.*)\n?/g],
    [/^\s*[^\s#]/m],
    [/^(?:[^\s:#=][^:#=\n]*[ \t])?test(?:[ \t]+[^:#=\n]*)?[ \t]*::?(?![:=])/m],
    [/^###\s+([\d-]+):\s*(.*?)\s*\(run:\s*([^()]+?)\s*\)\s*$/],
    [/\beyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}/],
    [/requirements[^/]*\.txt$/],
    [/(?:Unable to create '([^\n]+\.lock)'|no): File exists/],
    [/ b\/(.*)$/],
    [/^(a+)+$/],
  ])('finds %s', (expression) => {
    expect(whySlow(expression.source, expression.flags)).toEqual(expect.any(String));
  });

  it.each([
    [/(?<!\s)\s+$/],
    [/^###\s+([\d-]+):(.*)$/],
    [/(?<![\w-])eyJ[A-Za-z0-9_-]{10,200}\.[A-Za-z0-9_-]{10,200}/],
    [/"[^"]*"/g],
    [/\bghp_[A-Za-z0-9]{20,255}/],
    [/\s+/y],
  ])('passes %s', (expression) => {
    expect(whySlow(expression.source, expression.flags)).toBeNull();
  });

  it('is part of what the linter reads the code with', () => {
    const { rules } = createRequire(import.meta.url)('../.oxlintrc.json');
    expect(rules['autonomous/linear-expressions']).toBe('error');
  });
});
