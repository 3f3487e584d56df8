/** E2B's real SDK against a service on this machine that speaks its protocol: the contract, and what can go wrong with it. */
import { afterAll, beforeAll, describe } from 'vitest';
import { createBubblewrapProvider } from './bubblewrap.ts';
import { createE2bProvider } from './e2b.ts';
import { API_KEY, type E2bServer, startE2bServer } from './e2b-server.fixture.ts';
import { describeSandboxContract } from './sandbox.contract.ts';

const server: E2bServer = await startE2bServer();
const provider = createE2bProvider({ apiKey: API_KEY, apiUrl: server.url, sandboxUrl: server.url, timeoutMinutes: 10, server: 'test' });

describeSandboxContract(provider, { endsEscapedProcesses: true, mountsReadOnly: true, sharesFolder: false, hasServersNode: true });
afterAll(() => server.close());
