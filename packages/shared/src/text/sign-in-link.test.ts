import { expect, it } from 'vitest';
import { isSameAddress } from './server-address.ts';
import { signInLinkIn } from './sign-in-link.ts';

const LINK = 'http://127.0.0.1:3001/auth?code=abcdefghij-klmnop_1';

it.each([
  [LINK, 'http://127.0.0.1:3001'],
  [' http://[::1]:3001/auth?code=abcdefghij-klmnop_1 ', 'http://[::1]:3001'],
  [`  sign in  ${LINK}  (one browser, once, within 10 minutes)`, 'http://127.0.0.1:3001'],
  [`Open "${LINK}".`, 'http://127.0.0.1:3001'],
])('the text %j has a link that signs in at %j', (text, origin) => {
  expect(signInLinkIn(text)).toEqual({ code: 'abcdefghij-klmnop_1', origin });
});

it.each(['abcdefghij-klmnop_1', 'http://127.0.0.1:3001/', 'http://127.0.0.1:3001/auth?code=cut-off', 'a b', ''])(
  'the text %j has no link that signs in',
  (text) => {
    expect(signInLinkIn(text)).toBeNull();
  },
);

it.each([
  ['http://localhost:3001', true],
  ['http://127.0.0.1:3002', false],
  ['https://127.0.0.1:3001', false],
  ['http://example.org:3001', false],
])('%s is the address of http://127.0.0.1:3001: %s', (other, isSame) => {
  expect(isSameAddress('http://127.0.0.1:3001', other)).toBe(isSame);
});
