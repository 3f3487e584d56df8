/** The MCP servers that an operator names in a file: how each is reached, which roles have its tools, and which tools. */
import { type Fault, InvalidRequest } from '@autonomous/shared';
import { z } from 'zod';
import { type KnownRoles, roleNameFault } from '../../roles/role.ts';

export interface McpServer {
  /** Lower-case letters, digits and hyphens; its tools are `<name>__<tool>`. */
  readonly name: string;
  readonly reach:
    | {
        readonly kind: 'stdio';
        readonly command: string;
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
      }
    | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly roles: readonly string[];
  /** Names as the server gives them; `null` offers all. */
  readonly tools: readonly string[] | null;
  /** For one call of a tool, and for the server's start. */
  readonly timeoutMs: number;
}

export interface McpServers {
  readonly servers: readonly McpServer[];
  /** Values that came from the environment: what a scrubber has to know. */
  readonly secrets: readonly string[];
}

const DEFAULT_TIMEOUT_SECONDS = 60;

const text = z.string().min(1).max(4_000);
const common = {
  roles: z.array(z.string().min(1).max(64)).min(1),
  tools: z.array(text).min(1).optional(),
  timeoutSeconds: z.number().int().min(1).max(900).default(DEFAULT_TIMEOUT_SECONDS),
};
const serverSchema = z.union([
  z.strictObject({
    command: text,
    args: z.array(z.string().max(4_000)).default([]),
    env: z.record(z.string(), z.string()).default({}),
    ...common,
  }),
  z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    headers: z.record(z.string(), z.string()).default({}),
    ...common,
  }),
]);
const fileSchema = z.strictObject({
  servers: z.record(
    z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, 'a name has lower-case letters, digits and hyphens'),
    z.unknown(),
  ),
});

/**
 * Reads the file. `${NAME}` in values of `env` and `headers` is the value of that environment variable of the server.
 * @param fileName only for messages
 * @param known by default every name of a role is taken
 * @throws {InvalidRequest} with every fault
 */
export function parseMcpServers(
  json: string,
  fileName: string,
  env: Readonly<Record<string, string | undefined>>,
  known: KnownRoles = { results: {}, hasOthers: true },
): McpServers {
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch (error) {
    throw malformed(fileName, [`is not valid JSON: ${error instanceof Error ? error.message : String(error)}`]);
  }
  const file = fileSchema.safeParse(content);
  if (!file.success) throw malformed(fileName, faultsOf(file.error));

  const faults: string[] = [];
  const secrets = new Set<string>();
  const filledIn = (where: string, values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        value.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, variable: string) => {
          const found = env[variable];
          if (found === undefined || found === '') {
            faults.push(`${where}.${name}: the environment variable ${variable} is not set`);
            return '';
          }
          secrets.add(found);
          return found;
        }),
      ]),
    );

  const servers = Object.entries(file.data.servers).flatMap(([name, value]): McpServer[] => {
    const parsed = serverSchema.safeParse(value);
    if (!parsed.success) {
      faults.push(...faultsOfServer(name, value, parsed.error));
      return [];
    }
    const { roles, tools = null, timeoutSeconds } = parsed.data;
    const where = `servers.${name}`;
    for (const [index, role] of roles.entries()) {
      const fault = roleNameFault(role, known);
      if (fault !== null) faults.push(`${where}.roles.${index}: ${fault}`);
    }
    const reach: McpServer['reach'] =
      'url' in parsed.data
        ? { kind: 'http', url: parsed.data.url, headers: filledIn(`${where}.headers`, parsed.data.headers) }
        : {
            kind: 'stdio',
            command: parsed.data.command,
            args: parsed.data.args,
            env: filledIn(`${where}.env`, parsed.data.env),
          };
    return [{ name, reach, roles, tools, timeoutMs: timeoutSeconds * 1_000 }];
  });
  if (faults.length > 0) throw malformed(fileName, faults);
  return { servers, secrets: [...secrets] };
}

/** The faults of the form that was meant: with a command, or with an address. */
function faultsOfServer(name: string, value: unknown, error: z.ZodError): string[] {
  const isHttp = typeof value === 'object' && value !== null && 'url' in value;
  const [issue] = error.issues;
  const issues = issue?.code === 'invalid_union' ? (issue.errors[isHttp ? 1 : 0] ?? []) : error.issues;
  return issues.map(({ path, message }) => `${['servers', name, ...path.map(String)].join('.')}: ${message}`);
}

function faultsOf(error: z.ZodError): string[] {
  return error.issues.map(({ path, message }) => `${path.map(String).join('.') || 'whole file'}: ${message}`);
}

function malformed(fileName: string, faults: readonly string[]): InvalidRequest {
  const all = faults.map((fault): Fault => ({ path: '', message: `${fileName}: ${fault}` }));
  return new InvalidRequest(`The MCP servers of ${fileName} cannot be used:\n  ${faults.join('\n  ')}`, {
    faults: all,
  });
}
