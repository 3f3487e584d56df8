/** A small MCP server over stdio for the tests: it speaks the protocol's first version, line by line. */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , pidFile, behaviour = 'well'] = process.argv;
if (pidFile) writeFileSync(pidFile, String(process.pid));

interface Rpc {
  readonly id?: number;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly cursor?: string;
    readonly name?: string;
    readonly arguments?: Readonly<Record<string, string>>;
  };
}

const tool = (name: string, description: string, properties: object = {}) => ({
  name,
  description,
  inputSchema: { type: 'object', properties },
});
const TOOLS = [
  tool('lookup', 'Looks a word up.', { word: { type: 'string' } }),
  tool('environment', 'Gives its environment.'),
  tool('large', 'Gives a lot.'),
  tool('fail', 'Fails.'),
  tool('die', 'Ends the server.'),
  tool('hang', 'Gives nothing.'),
  tool('odd name!', 'Has an odd name.'),
];

const text = (value: string, more: object = {}) => ({ content: [{ type: 'text', text: value }], ...more });

function resultOf(name: string | undefined, input: Readonly<Record<string, string>> = {}): object | null {
  switch (name) {
    case 'lookup':
      return text(`${input['word'] ?? ''}: see page 7`);
    case 'environment':
      return text(
        Object.entries(process.env)
          .map((entry) => entry.join('='))
          .join('\n'),
      );
    case 'large':
      return text('x'.repeat(500_000));
    case 'fail':
      return text('no such page', { isError: true });
    case 'odd name!':
      return { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] };
    default:
      return null;
  }
}

if (behaviour !== 'silent') {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line) as Rpc;
    const answer = (result: object | null) =>
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
    if (method === 'initialize') {
      answer({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'fixture', version: '1' },
      });
    } else if (method === 'tools/list' && behaviour === 'many') {
      // A hundred others come before its own; it has another page for ever.
      const page = Number(params.cursor ?? 0);
      const others = Array.from({ length: 50 }, (_, index) => tool(`other-${page}-${index}`, 'Does nothing.'));
      answer({ tools: page === 2 ? TOOLS : others, nextCursor: String(page + 1) });
    } else if (method === 'tools/list' && behaviour === 'heavy') {
      // Each with a description of several hundred tokens.
      answer({ tools: Array.from({ length: 500 }, (_, index) => tool(`heavy-${index}`, 'word '.repeat(390))) });
    } else if (method === 'tools/list') {
      // In two pages.
      answer(params.cursor === 'more' ? { tools: TOOLS.slice(3) } : { tools: TOOLS.slice(0, 3), nextCursor: 'more' });
    } else if (method === 'tools/call' && params.name === 'die') {
      process.exit(1);
    } else if (method === 'tools/call' && params.name !== 'hang') {
      answer(resultOf(params.name, params.arguments));
    } else if (id !== undefined && method !== 'tools/call') {
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } })}\n`);
    }
  });
} else {
  process.stdin.resume();
}
