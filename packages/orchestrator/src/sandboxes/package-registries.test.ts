/** Hosts of package registries that an install step may reach. */
import { expect, it } from 'vitest';
import { packageRegistries } from './package-registries.ts';

const PUBLIC = [
  'registry.npmjs.org',
  'pypi.org',
  'index.crates.io',
  'proxy.golang.org',
  'rubygems.org',
  'api.github.com',
];

it.each([
  ['npm ci', ['registry.npmjs.org']],
  [
    '$(command -v pnpm || echo npx --yes pnpm@9.12.3) install --frozen-lockfile --ignore-scripts',
    ['registry.npmjs.org'],
  ],
  ['env -u YARN_IGNORE_SCRIPTS node .yarn/releases/yarn-4.5.0.cjs install --immutable', ['registry.npmjs.org']],
  ['sh ~/.install-bun.sh && bun install --no-save --ignore-scripts', ['registry.npmjs.org']],
  ['npm ci && python3 ~/.install-python.py', ['registry.npmjs.org', 'pypi.org']],
  ['(cd backend && cargo fetch --locked)', ['index.crates.io']],
  ['go mod download', ['proxy.golang.org']],
  ['BUNDLE_FROZEN=true bundle install', ['rubygems.org']],
  ['composer install --no-interaction', ['api.github.com']],
  ['sh setup.sh', PUBLIC],
  [undefined, PUBLIC],
])('are those of its programs: %s', async (step, hosts) => {
  const found = await packageRegistries({ namesOnly: false, step });
  // npm's own is among this machine's settings.
  const others = PUBLIC.filter((host) => host !== 'registry.npmjs.org');
  expect(found.filter((host) => others.includes(host))).toEqual(others.filter((host) => hosts.includes(host)));
  if (hosts.includes('registry.npmjs.org')) expect(found).toContain('registry.npmjs.org');
});
