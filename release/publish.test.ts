import { describe, expect, it } from 'vitest';
import { findObstacles, publishCommands } from './publish.ts';

const REPOSITORY = 'https://example.com/us/autonomous';
const CLEAN = { commit: 'a1', changes: [], branch: 'main', origin: 'git@example.com:us/autonomous.git' };
const TOKENS = { NODE_AUTH_TOKEN: 'x', OVSX_PAT: 'x', VSCE_PAT: 'x', ACTIONS_ID_TOKEN_REQUEST_URL: 'x' };

describe('a release', () => {
  it('may begin on a clean main branch with a changeset, tokens and an identity', () => {
    expect(findObstacles(CLEAN, REPOSITORY, 1, true, TOKENS)).toEqual([]);
  });

  it('needs no changeset for a version without a tag: the first one, and one whose release was interrupted', () => {
    expect(findObstacles(CLEAN, REPOSITORY, 0, false, TOKENS)).toEqual([]);
  });

  it.each([
    [{ changes: [' M README.md'] }, 1, TOKENS, /1 changed or unknown files, the first is README\.md/],
    [{ branch: 'feature' }, 1, TOKENS, /The branch is feature\./],
    [{}, 0, TOKENS, /npm run changeset/],
    [{ origin: '/srv/other.git' }, 1, TOKENS, /'origin' is \/srv\/other\.git/],
    [{}, 1, { ...TOKENS, NODE_AUTH_TOKEN: '' }, /NODE_AUTH_TOKEN is not set/],
    [{}, 1, { ...TOKENS, ACTIONS_ID_TOKEN_REQUEST_URL: undefined }, /id-token: write/],
  ])('is refused for %j', (git, changesets, env, fault) => {
    const obstacles = findObstacles({ ...CLEAN, ...git }, REPOSITORY, changesets, true, env);
    expect(obstacles).toEqual([expect.stringMatching(fault)]);
  });

  it('publishes the packages before the extension that installs them', () => {
    const file = (name: string) => ({ name, version: '1.0.0', file: name, bytes: 1, unpackedBytes: 1, integrity: '' });
    const commands = publishCommands('/out', {
      version: '1.0.0',
      commit: 'a1',
      files: [file('a.vsix'), file('b.tgz')],
    });
    expect(commands.map(({ args }) => args.find((each) => each.startsWith('/out')))).toEqual([
      '/out/b.tgz',
      '/out/a.vsix',
      '/out/a.vsix',
    ]);
    expect(commands[0]?.args).toContain('--provenance');
  });
});
