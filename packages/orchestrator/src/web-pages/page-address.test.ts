import { describe, expect, it } from 'vitest';
import { checkAddress, parsePageHosts } from './page-address.ts';

const hosts = (...list: readonly string[]) => {
  const parsed = parsePageHosts(list);
  if (parsed === null) throw new Error(`${list.join(', ')} cannot be read`);
  return parsed;
};
const everything = hosts('*');

describe('an address of a page', () => {
  it.each(['http://example.com/', 'https://example.com/a?b=c', 'https://example.com:443/', 'http://EXAMPLE.com:80'])(
    'is taken as %s',
    (address) => expect(checkAddress(address, everything)).toMatchObject({ ok: true, target: { internal: false } }),
  );

  it.each([
    ['', 'is not an address'],
    ['example.com', 'is not an address'],
    ['/etc/passwd', 'is not an address'],
    ['file:///etc/passwd', 'is not http or https'],
    ['ftp://example.com/', 'is not http or https'],
    ['javascript:alert(1)', 'is not http or https'],
    ['http://user:secret@example.com/', 'a user name or a password'],
    ['http://token@example.com/', 'a user name or a password'],
    ['http://example.com:8080/', 'has the port 8080'],
    ['http://example.com:22/', 'has the port 22'],
    [`https://example.com/${'a'.repeat(5_000)}`, 'is longer than'],
  ])('is refused as %s', (address, why) => {
    const answer = checkAddress(address, everything);
    expect(answer).toMatchObject({ ok: false, reason: 'address', message: expect.stringContaining(why) });
    expect(answer).not.toMatchObject({ message: expect.stringContaining('secret') });
  });

  it('has its host without brackets and its fragment cut off', () => {
    const answer = checkAddress('http://[2606:4700::1111]/a#b', everything);
    expect(answer).toMatchObject({ ok: true, target: { host: '2606:4700::1111', port: 80 } });
    expect(answer.ok && answer.target.url.href).toBe('http://[2606:4700::1111]/a');
  });

  it('is compared in the form that is connected to', () => {
    expect(checkAddress('http://0x7f000001/', everything)).toMatchObject({ target: { host: '127.0.0.1' } });
    expect(checkAddress('http://2130706433/', everything)).toMatchObject({ target: { host: '127.0.0.1' } });
    expect(checkAddress('http://bücher.example/', everything)).toMatchObject({
      target: { host: 'xn--bcher-kva.example' },
    });
  });

  it('may be relative to the page that names it', () => {
    const answer = checkAddress('../b', everything, new URL('https://example.com/x/a'));
    expect(answer.ok && answer.target.url.href).toBe('https://example.com/b');
  });
});

describe('the list of hosts', () => {
  it('allows a private host at its own port alone', () => {
    const list = hosts('*', 'internal:wiki.acme.test:8080');
    expect(checkAddress('http://wiki.acme.test:8080/', list)).toMatchObject({ ok: true, target: { internal: true } });
    expect(checkAddress('http://wiki.acme.test/', list)).toMatchObject({ ok: true, target: { internal: false } });
    expect(checkAddress('http://wiki.acme.test:8081/', list)).toMatchObject({ ok: false, reason: 'address' });
  });

  it('without * allows nothing else', () => {
    const list = hosts('docs.acme.test');
    expect(checkAddress('https://docs.acme.test/', list)).toMatchObject({ ok: true });
    expect(checkAddress('https://example.com/', list)).toMatchObject({
      ok: false,
      reason: 'not_allowed',
      message: expect.stringContaining('WEB_ALLOW'),
    });
  });

  it.each(['*.example.com', 'http://example.com', 'example.com/path', 'EXAMPLE.com', 'a b'])('is not %s', (entry) =>
    expect(parsePageHosts(['*', entry])).toBeNull(),
  );
});
