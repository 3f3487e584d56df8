/** By-products of tools: which are asked for, and how long very many of them take. */
import { expect, it } from 'vitest';
import { createByProducts } from './by-products.ts';

const file = (path: string) => ({ path, isFolder: false, hasBeside: () => false });
const folder = (path: string) => ({ path, isFolder: true, hasBeside: () => true });

it.each([
  ['Write `lib/dist/index.js`.', 'lib/dist', false],
  ['Write ./lib/dist/ and / or nothing.', 'lib/dist', false],
  ['Write `dist`.', 'lib/dist', false],
  ['Write lib/dist.ts and src/lib.ts.', 'lib/dist', true],
  ['The dist folder stays.', 'dist', true],
])('reads from %j whether %s is a by-product', async (asked, path, expected) => {
  expect(await createByProducts([], asked).isByProduct(folder(path))).toBe(expected);
});

it('looks through very many files under a long plan within seconds', async () => {
  const byProducts = createByProducts([], 'Change src/parts/one.ts. '.repeat(2_000));
  const startedAt = process.cpuUsage();
  for (let index = 0; index < 20_000; index += 1) await byProducts.isByProduct(file(`f${index}.pyc`));
  expect(byProducts.described()).toHaveLength(1);
  expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(5_000);
});
