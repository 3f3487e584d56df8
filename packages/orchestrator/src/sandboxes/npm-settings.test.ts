/** Addresses are passed on, secrets are not. */
import { expect, it } from 'vitest';
import { registriesOf, renderNpmrc } from './npm-settings.ts';

it('passes on registries and proxies without their credentials', () => {
  const npmrc = renderNpmrc({
    registry: 'https://user:canary@registry.example/npm/',
    '@scope:registry': 'https://scope.example/?token=canary',
    'https-proxy': 'http://user:canary@proxy.example:3128',
    proxy: null,
  });
  expect(npmrc.split('\n')).toEqual([
    'ignore-scripts=true',
    'audit=false',
    'fund=false',
    'update-notifier=false',
    'registry=https://registry.example/npm/',
    '@scope:registry=https://scope.example/',
    'https-proxy=http://proxy.example:3128/',
    '',
  ]);
});

it('passes on nothing else, whatever its name or value', () => {
  const npmrc = renderNpmrc({
    '//registry.example/:_authToken': 'canary',
    _auth: 'canary',
    _password: 'canary',
    key: 'canary',
    cert: 'canary',
    'init-author-name': 'canary',
    'node-options': '--require=canary',
    'script-shell': '/canary',
    registry: 'canary\nignore-scripts=false',
    '@x:registry\nignore-scripts': 'https://canary.example/',
  });
  expect(npmrc).not.toContain('canary');
  expect(npmrc).not.toContain('ignore-scripts=false');
});

it('names the hosts of all registries as entries of an allow-list', () => {
  const settings = {
    registry: 'https://user:canary@registry.example/npm/',
    '@scope:registry': 'http://10.0.0.5:4873/',
    '@other:registry': 'https://registry.example/',
    proxy: 'http://proxy.example/',
  };
  expect(registriesOf(settings)).toEqual(['registry.example', '10.0.0.5:4873']);
});
