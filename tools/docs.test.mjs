/** The pages of the repository lead somewhere. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n');

it.each(pages)('%s has no link to a file that is not there', (page) => {
  // What stands in a block of code or between backticks is no link.
  const text = readFileSync(path.join(root, page), 'utf8').replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, to = '']) => to.replace(/#.*/, ''));
  const local = links.filter((to) => to !== '' && !/^[a-z]+:/.test(to));
  expect(local.filter((to) => !existsSync(path.join(root, path.dirname(page), to)))).toEqual([]);
});

it.each(pages)('%s shows the examples as they are', (page) => {
  const text = readFileSync(path.join(root, page), 'utf8');
  // A block that begins with the name of an example's file shows parts of it, divided by `// …`.
  const blocks = [...text.matchAll(/^```ts\n\/\/ (examples\/\S+)\n([\s\S]*?)^```$/gm)];
  for (const [, file = '', block = ''] of blocks) {
    const source = readFileSync(path.join(root, file), 'utf8');
    for (const part of block.split('// …\n')) expect(source, `${file} has no such lines`).toContain(part.trimEnd());
  }
});
