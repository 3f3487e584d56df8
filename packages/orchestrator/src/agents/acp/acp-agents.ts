/** External agents as the server's configuration names them: `AUTONOMOUS_AGENTS` is the path of a JSON file by their names. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Fault } from '@autonomous/shared';
import { z } from 'zod';
import { EGRESS_ENTRY_FORM, parseEgressEntry } from '../../network/egress-rules.ts';
import type { SandboxSpec } from '../../sandboxes/sandbox.ts';
import { PERMISSION_POLICIES, type PermissionRules, TOOL_KINDS } from './acp-permissions.ts';

export interface AcpAgentSettings {
  /** A role is sent to it by the model id `acp:<name>`. */
  readonly name: string;
  /** As the sandbox finds it: a path inside or a name on its PATH. */
  readonly command: string;
  readonly args: readonly string[];
  /** All of it can be read by whatever runs in the agent's sandbox. */
  readonly env: Readonly<Record<string, string>>;
  /** Folders of this machine that the agent's program lies in, read-only in the sandbox. */
  readonly mounts: SandboxSpec['readOnly'];
  readonly permissions: PermissionRules;
  /** Hosts that its own program has to reach, beside those of the role: entries of an allow-list. */
  readonly network: readonly string[];
  /**
   * Id of the agent's sign-in method, for agents that require one; `null`: none is sent. The error of a refused start lists
   * the ids.
   */
  readonly authMethod: string | null;
  /** Values of `env` that must show up nowhere else. */
  readonly secrets: readonly string[];
  /** Why it cannot be used on this server, and the way out; `null` when it can. */
  readonly unusable: string | null;
}

export interface AgentsFileContext {
  /** Absolute folder of the file: where relative paths begin. */
  readonly folder: string;
  /** Absolute; no agent is shown anything of it. */
  readonly dataFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where mounts may appear inside: a place of which the sandbox has nothing else but its own Node. */
const MOUNTS = '/opt/';
const TAKEN = '/opt/node';

/** Names of variables whose value is a secret although it stands in the file itself. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i;

const text = z
  .string()
  .max(4_000)
  .regex(/^[^\0]*$/, 'must not hold a NUL character');
const policy = z.enum(PERMISSION_POLICIES);
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a valid name of an environment variable');

const agentSchema = z.strictObject({
  command: text.min(1),
  args: z.array(text).max(100).default([]),
  env: z
    .record(
      variableName,
      z.union([text, z.strictObject({ from: variableName })], {
        error: 'takes a text, or {"from": "NAME"} with the name of a variable of the server',
      }),
    )
    .default({}),
  mounts: z
    .record(
      text,
      text.refine((inside) => isMountPoint(inside), `takes a path below ${MOUNTS} in the sandbox, other than ${TAKEN}`),
    )
    .default({}),
  permissions: z
    .union([policy, z.strictObject({ default: policy, ...kindsTo(policy.optional()) })], {
      error: `takes ${PERMISSION_POLICIES.join(', ')}, or an object with "default" and kinds of tools: ${TOOL_KINDS.join(', ')}`,
    })
    .default('allow'),
  network: z
    .array(text.refine((entry) => parseEgressEntry(entry) !== null, `takes hosts, each ${EGRESS_ENTRY_FORM}`))
    .max(100)
    .default([]),
  authMethod: text.min(1).optional(),
});

const fileSchema = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'is not a valid agent name: use a-z, 0-9 and -'),
  agentSchema,
);

export type ParsedAgents =
  | { readonly ok: true; readonly agents: readonly AcpAgentSettings[] }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** @returns every fault of the file at once, each with the path of the key it is about; values are not shown */
export function parseAcpAgents(json: string, context: AgentsFileContext): ParsedAgents {
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch (error) {
    // The parser's own words would quote what stands around the fault, which may be a key.
    return { ok: false, faults: [{ path: '', message: `is not valid JSON${positionIn(error)}` }] };
  }
  const parsed = fileSchema.safeParse(content);
  const faults = parsed.success
    ? Object.entries(parsed.data).flatMap(([name, agent]) => exposures(name, agent.mounts, context))
    : parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  if (!parsed.success || faults.length > 0) return { ok: false, faults };
  return {
    ok: true,
    agents: Object.entries(parsed.data).map(([name, agent]) => settingsOf(name, agent, context)),
  };
}

type ParsedAgent = z.output<typeof agentSchema>;

function settingsOf(name: string, agent: ParsedAgent, context: AgentsFileContext): AcpAgentSettings {
  const { command, args, permissions, network } = agent;
  const mounts = Object.entries(agent.mounts).map(([host, inside]) => ({
    host: path.resolve(context.folder, host),
    inside,
  }));
  const env: Record<string, string> = {};
  const secrets: string[] = [];
  const missing: string[] = [];
  for (const [variable, value] of Object.entries(agent.env)) {
    const given = typeof value === 'string' ? value : (context.env[value.from] ?? '');
    env[variable] = given;
    if (typeof value !== 'string' && given === '') missing.push(value.from);
    if (typeof value !== 'string' || SECRET_NAME.test(variable)) secrets.push(given);
  }
  const gone = mounts.filter(({ host }) => !existsSync(host)).map(({ host }) => host);
  return {
    name,
    command,
    args,
    env,
    mounts,
    permissions: typeof permissions === 'string' ? { default: permissions } : permissions,
    network,
    authMethod: agent.authMethod ?? null,
    secrets: secrets.filter((secret) => secret !== ''),
    unusable:
      missing.length > 0
        ? `${missing.join(' and ')} is not set. Set it in the server's environment and restart the server.`
        : gone.length > 0
          ? `nothing exists at ${gone.join(' and ')}. Install the agent there and restart the server.`
          : null,
  };
}

/** Mounts that would show agents what is the server's own. */
function exposures(name: string, mounts: Readonly<Record<string, string>>, context: AgentsFileContext): Fault[] {
  return Object.keys(mounts)
    .filter((host) => {
      const folder = path.resolve(context.folder, host);
      return isWithin(context.dataFolder, folder) || isWithin(folder, context.dataFolder);
    })
    .map((host) => ({
      path: `${name}.mounts.${host}`,
      message:
        'would give the agent access to the data folder of the server; mount a folder that contains only the agent',
    }));
}

function isWithin(inner: string, outer: string): boolean {
  const relative = path.relative(outer, inner);
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}

function isMountPoint(inside: string): boolean {
  return (
    path.posix.normalize(inside) === inside &&
    inside.startsWith(MOUNTS) &&
    inside.length > MOUNTS.length &&
    !inside.endsWith('/') &&
    inside !== TAKEN &&
    !inside.startsWith(`${TAKEN}/`)
  );
}

function kindsTo<Value>(value: Value): Record<(typeof TOOL_KINDS)[number], Value> {
  // One entry for each of the kinds and no other.
  return Object.fromEntries(TOOL_KINDS.map((kind) => [kind, value])) as Record<(typeof TOOL_KINDS)[number], Value>;
}

function positionIn(error: unknown): string {
  const position = error instanceof Error ? /line \d+ column \d+|position \d+/.exec(error.message)?.[0] : undefined;
  return position === undefined ? '' : `: the fault is at ${position}`;
}
