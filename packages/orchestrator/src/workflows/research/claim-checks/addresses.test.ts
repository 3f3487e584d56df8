/** Addresses of one page. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalisedAddress } from './addresses.ts';

describe('normalisedAddress', () => {
  it.each([
    ['https://example.org/a', 'example.org/a'],
    ['http://www.Example.ORG:80/a/', 'example.org/a'],
    ['https://example.org:443/a//', 'example.org/a'],
    ['https://example.org:8443/a', 'example.org:8443/a'],
    ['https://user:secret@example.org./a#part', 'example.org/a'],
    ['https://example.org:80/a', 'example.org/a'],
    ['//example.org/a', 'example.org/a'],
    ['example.org/a', 'example.org/a'],
    ['https://example.org', 'example.org'],
    ['https://example.org/?', 'example.org'],
    ['https://example.org/a?utm_source=x&UTM_medium=y&gclid=1&fbclid=2', 'example.org/a'],
    ['https://example.org/a?b=2&utm_source=x&a=1', 'example.org/a?a=1&b=2'],
    ['https://example.org/a?q=two+words', 'example.org/a?q=two%20words'],
    ['https://example.org/a?q=two%20words', 'example.org/a?q=two%20words'],
    ['https://example.org/%7Euser/%c3%a9', 'example.org/~user/%C3%A9'],
    ['https://example.org/~user/é', 'example.org/~user/%C3%A9'],
    ['https://example.org/a%2Fb', 'example.org/a%2Fb'],
    ['https://example.org/a/../b/./c', 'example.org/b/c'],
    ['https://bücher.example/a', 'xn--bcher-kva.example/a'],
    ['https://example.org/%E0%A4%A', 'example.org/%E0%A4%A'],
    ['http://localhost:3000/a', 'localhost:3000/a'],
    ['http://[::1]:3000/a', '[::1]:3000/a'],
    [' not an address ', 'not an address'],
    ['packages/a/b.ts', 'packages/a/b.ts'],
    ['mailto:a@example.org', 'mailto:a@example.org'],
    ['ftp://example.org/a', 'ftp://example.org/a'],
    ['', ''],
  ])('gives %j the form %j', (address, expected) => {
    expect(normalisedAddress(address)).toBe(expected);
  });

  it.each([
    ['https://example.org/a', 'https://example.org/A'],
    ['https://example.org/a', 'https://docs.example.org/a'],
    ['https://example.org/a', 'https://example.org/a?page=2'],
    ['https://example.org/a%2Fb', 'https://example.org/a/b'],
    ['https://example.org/a?b=c%26d', 'https://example.org/a?b=c&d'],
    ['https://example.org:8080/a', 'https://example.org/a'],
  ])('tells %s from %s', (one, other) => {
    expect(normalisedAddress(one)).not.toBe(normalisedAddress(other));
  });

  it('changes nothing the second time, and is never an error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.string()), (address) => {
        const once = normalisedAddress(address);
        expect(normalisedAddress(once)).toBe(once);
      }),
    );
  });

  it('is the same for every dress of an address', () => {
    const scheme = fc.constantFrom('https://', 'http://', 'https://www.', 'HTTP://');
    const end = fc.constantFrom('', '/', '#part', '?utm_campaign=x', '/?fbclid=1#x');
    fc.assert(
      fc.property(
        fc.domain(),
        fc.array(fc.stringMatching(/^[a-z\d]{1,6}$/), { minLength: 1 }),
        scheme,
        end,
        (host, path, before, behind) => {
          fc.pre(!host.startsWith('www.'));
          const page = `${host}/${path.join('/')}`;
          expect(normalisedAddress(`${before}${page}${behind}`)).toBe(normalisedAddress(page));
        },
      ),
    );
  });
});
