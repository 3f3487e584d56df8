import { expect, it } from 'vitest';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { networkOf } from './egress.ts';

const tools = { egress: async () => ['docs.test', 'internal:10.0.0.5:8080'] };
const withWish = (implementer: readonly string[]) => ({
  ...BUILT_IN_RUN_CONFIG,
  egress: { implementer: [...implementer] },
});

it('gives a role the list of the server, less what project and run leave out, and never more', async () => {
  const allowOf = async (config: typeof BUILT_IN_RUN_CONFIG) => (await networkOf(tools, 'implementer', config)).allow;
  expect(await allowOf(BUILT_IN_RUN_CONFIG)).toEqual(['docs.test', 'internal:10.0.0.5:8080']);
  expect(await allowOf(withWish(['10.0.0.5:8080', 'evil.test']))).toEqual(['internal:10.0.0.5:8080']);
  expect(await allowOf(withWish(['internal:docs.test', 'internal:127.0.0.1:80']))).toEqual([]);
  expect(await allowOf(withWish([]))).toEqual([]);
});
