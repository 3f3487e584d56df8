import type { Setup } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { expect, it } from 'vitest';
import { createModelKeys } from './model-keys.ts';
import { createModelReadiness } from './model-readiness.ts';

const setup = (isReady: boolean): Setup => ({ isReady, providers: [], agents: [], defaultModels: {} });

function aReadiness(client: () => Pick<Client, 'getSetup'> | null) {
  const said: boolean[] = [];
  const faults: unknown[] = [];
  const secrets = {
    get: () => Promise.resolve(undefined),
    store: () => Promise.resolve(),
    delete: () => Promise.resolve(),
  };
  const readiness = createModelReadiness({
    keys: createModelKeys(secrets),
    client,
    onChange: (hasModel) => said.push(hasModel),
    onFault: (error) => faults.push(error),
  });
  return { readiness, said, faults };
}

it('says what the server says, and nothing without a server', async () => {
  let client: Pick<Client, 'getSetup'> | null = null;
  const { readiness, said } = aReadiness(() => client);
  await readiness.look();
  expect(readiness.hasModel).toBeNull();
  client = { getSetup: () => Promise.resolve(setup(false)) };
  await readiness.look();
  client = { getSetup: () => Promise.resolve(setup(true)) };
  await readiness.look();
  expect(said).toEqual([false, true]);
  expect(readiness.hasModel).toBe(true);
});

it('takes a server that cannot be asked to have a model, and tells of the fault', async () => {
  const down = new Error('down');
  const { readiness, said, faults } = aReadiness(() => ({ getSetup: () => Promise.reject(down) }));
  await readiness.look();
  expect(said).toEqual([true]);
  expect(faults).toEqual([down]);
});

it('forgets an answer that a later one has overtaken', async () => {
  const { promise, resolve } = Promise.withResolvers<Setup>();
  const answers = [promise, Promise.resolve(setup(true))];
  const { readiness, said } = aReadiness(() => ({ getSetup: () => answers.shift() ?? Promise.reject(new Error('x')) }));
  const first = readiness.look();
  await readiness.look();
  resolve(setup(false));
  await first;
  expect(said).toEqual([true]);
});
