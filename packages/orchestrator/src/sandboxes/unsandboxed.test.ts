/** Provider `none` keeps the contract as far as it can without a sandbox, and refuses the rest. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeSandboxContract, TEST_LIMITS } from './sandbox.contract.ts';
import { createUnsandboxedProvider } from './unsandboxed.ts';

describeSandboxContract(createUnsandboxedProvider(), {
  endsEscapedProcesses: false,
  mountsReadOnly: false,
  sharesFolder: true,
  hasServersNode: true,
});

it('refuses read-only mounts, which it could only ignore', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'unsandboxed-'));
  const opening = createUnsandboxedProvider().open({
    key: 'r-1/1/test',
    folder,
    readOnly: [{ host: folder, inside: '/uploads' }],
    network: 'none',
    limits: TEST_LIMITS,
  });
  await expect(opening).rejects.toMatchObject({ name: 'NeedsHuman', reason: 'sandbox_unavailable' });
  await rm(folder, { recursive: true });
});
