/** Tests which entries the file in `AUTONOMOUS_AGENTS` may have, and the faults that are reported for others. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAcpAgents } from './acp-agents.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'acp-agents-'));
afterAll(() => rmSync(folder, { recursive: true }));

const context = { folder, dataFolder: path.join(folder, 'data'), env: { MY_KEY: 'key-canary-1', EMPTY: '' } };
const parse = (agents: unknown) => parseAcpAgents(JSON.stringify(agents), context);
const faultsOf = (agents: unknown) => {
  const parsed = parse(agents);
  return parsed.ok ? [] : parsed.faults;
};

it('takes an agent with everything that it can have', () => {
  expect(
    parse({
      claude: {
        command: '/opt/claude/bin/agent',
        args: ['--acp'],
        env: { API_KEY: { from: 'MY_KEY' }, MODEL: 'small', OTHER_TOKEN: 'token-canary-2' },
        mounts: { [path.relative(folder, '/usr')]: '/opt/claude' },
        permissions: { default: 'ask', read: 'allow', execute: 'deny' },
        network: ['api.example.com', 'internal:127.0.0.1:11434'],
        authMethod: 'api-key',
      },
    }),
  ).toEqual({
    ok: true,
    agents: [
      {
        name: 'claude',
        command: '/opt/claude/bin/agent',
        args: ['--acp'],
        env: { API_KEY: 'key-canary-1', MODEL: 'small', OTHER_TOKEN: 'token-canary-2' },
        mounts: [{ host: '/usr', inside: '/opt/claude' }],
        permissions: { default: 'ask', read: 'allow', execute: 'deny' },
        network: ['api.example.com', 'internal:127.0.0.1:11434'],
        authMethod: 'api-key',
        secrets: ['key-canary-1', 'token-canary-2'],
        unusable: null,
      },
    ],
  });
});

it('gives an agent no network and every permission where nothing is said of them', () => {
  expect(parse({ own: { command: 'own' } })).toMatchObject({
    ok: true,
    agents: [{ network: [], permissions: { default: 'allow' }, mounts: [], secrets: [], unusable: null }],
  });
});

it('knows why an agent cannot be used, which is no fault of the file', () => {
  const env = { A: { from: 'NOT_SET' }, B: { from: 'EMPTY' } };
  expect(
    parse({ keyless: { command: 'x', env }, gone: { command: 'x', mounts: { './nowhere': '/opt/x' } } }),
  ).toMatchObject({
    agents: [
      { name: 'keyless', unusable: expect.stringMatching(/^NOT_SET and EMPTY is not set\./) },
      { name: 'gone', unusable: expect.stringContaining(path.join(folder, 'nowhere')) },
    ],
  });
});

describe('faults', () => {
  it('come all at once, each with its place', () => {
    const faults = faultsOf({
      one: { command: '', more: true },
      'Two Words': { command: 'x' },
      three: { command: 'x', env: { 'A-B': 'x', C: 5 }, permissions: 'maybe', network: ['API.example.com'] },
      four: { command: 'x', permissions: { read: 'allow' } },
    });
    expect(faults.map((fault) => fault.path)).toEqual(
      expect.arrayContaining([
        'one.command',
        'one',
        'Two Words',
        'three.env.C',
        'three.permissions',
        'three.network.0',
        'four.permissions',
      ]),
    );
    expect(faults.find((fault) => fault.path === 'three.permissions')?.message).toContain('allow, deny, ask');
    expect(faults.find((fault) => fault.path === 'three.env.C')?.message).toContain('{"from": "NAME"}');
  });

  it('never show what stands in the file', () => {
    const broken = parseAcpAgents('{"a": {"command": "x", "env": {"KEY": "key-canary-3" oops', context);
    expect(broken).toMatchObject({ ok: false, faults: [{ message: expect.stringContaining('is not valid JSON') }] });
    expect(JSON.stringify(broken)).not.toContain('canary');
    expect(JSON.stringify(faultsOf({ a: { command: 'x', env: { KEY: ['key-canary-4'] } } }))).not.toContain('canary');
  });

  it.each(['/usr/x', '/opt', '/opt/', '/opt/../etc', '/opt/node', '/opt/node/bin', '/workspace', 'opt/x', '/opt/x/'])(
    'refuse %s as a place to show something',
    (inside) => {
      expect(faultsOf({ a: { command: 'x', mounts: { '/usr': inside } } })).toHaveLength(1);
    },
  );

  it.each(['.', '/', './data', './data/mirrors/r-1'])('refuse to show %s, where data of the server lies', (host) => {
    expect(faultsOf({ a: { command: 'x', mounts: { [host]: '/opt/x' } } })).toEqual([
      { path: `a.mounts.${host}`, message: expect.stringContaining('data folder') },
    ]);
  });
});
