import { expect, it } from 'vitest';
import { pullRequestAtGitHub } from './pull-request-address.ts';

it('reads owner, repository and number of a pull request at github.com', () => {
  const place = { owner: 'acme', repo: 'shop.js', pullRequestNumber: 12 };
  expect(pullRequestAtGitHub('https://github.com/acme/shop.js/pull/12')).toEqual(place);
});

it.each([
  'https://forge.example/acme/shop/pull/12',
  'http://github.com/acme/shop/pull/12',
  'https://github.com@evil.example/acme/shop/pull/12',
  'https://github.com/acme/shop/pull/12/files',
  'https://github.com/acme/shop/issues/12',
  'https://github.com/a%20b/shop/pull/12',
  'no address',
])('takes %s for none', (address) => {
  expect(pullRequestAtGitHub(address)).toBeNull();
});
