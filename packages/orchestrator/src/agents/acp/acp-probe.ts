/** Tests an external agent as runs use it: its program in a sandbox, asked for a session. No prompt is sent, so nothing is spent. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import type { SandboxLimits, SandboxProvider } from '../../sandboxes/sandbox.ts';
import type { AcpAgentSettings } from './acp-agents.ts';
import { AcpPeer, AgentGone } from './acp-peer.ts';

export interface AgentProbe {
  readonly status: 'ready' | 'not_signed_in' | 'failed';
  /** The fault; `null` when there is none. May quote output of the program. */
  readonly detail: string | null;
}

const LIMITS: SandboxLimits = { memoryBytes: 4 * 2 ** 30, fileBytes: 2 ** 30, processes: 256, cpuSeconds: 120 };
const SHOWN_STDERR = 400;

/** @param timeoutMs of all of it */
export async function probeAcpAgent(
  settings: AcpAgentSettings,
  sandboxes: Pick<SandboxProvider, 'open'>,
  timeoutMs = 60_000,
): Promise<AgentProbe> {
  const root = await mkdtemp(path.join(tmpdir(), 'autonomous-agent-'));
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const [folder, home] = [path.join(root, 'project'), path.join(root, 'home')];
    await Promise.all([mkdir(folder), mkdir(home)]);
    const sandbox = await sandboxes.open({
      key: `setup/agent/${settings.name}`,
      folder,
      home,
      readOnly: settings.mounts,
      network: { allow: settings.network },
      limits: LIMITS,
      signal,
    });
    try {
      await openSession(settings, sandbox, signal);
      return { status: 'ready', detail: null };
    } finally {
      await sandbox.dispose();
    }
  } catch (error) {
    return faultOf(error, signal, timeoutMs);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function openSession(
  settings: AcpAgentSettings,
  sandbox: Parameters<typeof AcpPeer.start>[0]['sandbox'],
  signal: AbortSignal,
): Promise<void> {
  const peer = await AcpPeer.start({
    settings,
    sandbox,
    folder: '/workspace',
    signal,
    mayAsk: false,
    onUpdate: () => {},
    onPermission: () => ({ kind: 'refuse' }),
    onMalformedLine: () => {},
  });
  try {
    await peer.openSession(null);
  } finally {
    await peer.end();
  }
}

function faultOf(error: unknown, signal: AbortSignal, timeoutMs: number): AgentProbe {
  if (signal.aborted) return failed(`It did not open a session within ${timeoutMs / 1_000} s.`);
  if (error instanceof NeedsHuman)
    return { status: error.reason === 'model_unavailable' ? 'not_signed_in' : 'failed', detail: error.message };
  if (!(error instanceof AgentGone)) throw error;
  const { exitCode, stderr } = error.exit;
  const words = stderr.trim().slice(-SHOWN_STDERR);
  return failed(`It ended by itself (exit code ${String(exitCode)})${words === '' ? '.' : `: ${words}`}`);
}

const failed = (detail: string): AgentProbe => ({ status: 'failed', detail });
