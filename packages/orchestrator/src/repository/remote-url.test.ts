import { InvalidRequest } from '@autonomous/shared';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRemoteAddress, takesToken, withoutCredentials } from './remote-url.ts';

describe('B07: the address of a remote', () => {
  it.each([
    ['/srv/git/shop.git/', 'local', '/srv/git/shop.git'],
    ['file:///srv/my%20shop', 'local', '/srv/my shop'],
    ['https://github.com/owner/name.git', 'http', 'https://github.com/owner/name.git'],
    ['http://127.0.0.1:8080/owner/name.git', 'http', 'http://127.0.0.1:8080/owner/name.git'],
    ['ssh://git@github.com:22/owner/name', 'ssh', 'ssh://git@github.com:22/owner/name'],
    ['git@github.com:owner/name.git', 'ssh', 'git@github.com:owner/name.git'],
  ])('may be %s', (repository, kind, url) => {
    expect(parseRemoteAddress(repository)).toMatchObject({ kind, url });
  });

  it.each([
    '',
    'relative/path',
    './x',
    '~/x',
    '-x',
    '--upload-pack=touch PWN',
    'ext::sh -c "touch PWN"',
    'fd::17',
    'file://host/share',
    'file:///a?x',
    'file:x/../..',
    '/srv/../etc',
    '/srv/\0x',
    '/srv/a\nb',
    'git://host/x',
    'ftp://host/x',
    'ssh://-oProxyCommand=touch/x',
    'ssh://git@-host/x',
    'ssh://git:pw@host/x',
    '-oX@host:x',
    'git@-host:x',
    'git@host:-x',
    'git@host: x',
    'https:///evil/x',
    'https:evil/x',
    'https://',
    'https://host/x?y',
    'https://host/x#y',
    'HTTPS://user:pw@host/x',
    'https://user@host/x',
    'transport::https://host/x',
    'host:path',
    'C:\\x',
    `/${'x'.repeat(3_000)}`,
  ])('is not %j', (repository) => {
    expect(() => parseRemoteAddress(repository)).toThrow(InvalidRequest);
  });

  it('never shows credentials in its refusals', () => {
    for (const address of [
      'https://user:hunter2@host/x',
      'ssh://git:hunter2@host/x',
      'ftp://u:hunter2@host',
      'file://u:hunter2@host/x',
      'ext::https://u:hunter2@h',
    ]) {
      expect(() => parseRemoteAddress(address)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
      );
    }
    expect(withoutCredentials("fatal: 'https://a:b@host/x' and ssh://c@d")).toBe("fatal: 'https://host/x' and ssh://d");
  });

  it('is never something that git reads as an option or a remote helper', () => {
    const pieces = fc.oneof(
      fc.constantFrom('-', '::', ':', '//', '/', '@', 'https:', 'ssh:', 'file:', 'git', 'host', '..', '\n', ' '),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 7 }), (parts) => {
        let url: string;
        try {
          ({ url } = parseRemoteAddress(parts.join('')));
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidRequest);
          return;
        }
        expect(url).toMatch(/^(?:\/|https?:\/\/[^/@]+\/|ssh:\/\/[^-]|[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9])/);
        expect(/^[A-Za-z0-9]+::/.test(url)).toBe(false);
      }),
      { numRuns: 10_000 },
    );
  });
});

describe('The token', () => {
  it.each([
    ['https://github.com/a/b', 'github.com', true],
    ['https://GitHub.com/a/b', 'github.com', true],
    ['https://git.corp:8443/a/b', 'git.corp:8443', true],
    ['http://127.0.0.1:99/a/b', '127.0.0.1:99', true],
    ['http://github.com/a/b', 'github.com', false],
    ['https://github.com.evil.example/a/b', 'github.com', false],
    ['https://evil.example/github.com', 'github.com', false],
    ['https://github.com:444/a/b', 'github.com', false],
    ['http://127.0.0.1:98/a/b', '127.0.0.1:99', false],
    ['git@github.com:a/b', 'github.com', false],
    ['/srv/github.com', 'github.com', false],
  ])('for %s and host %s goes there: %s', (repository, host, goes) => {
    expect(takesToken(parseRemoteAddress(repository), host)).toBe(goes);
  });
});
