/** Package registries of install steps, as entries of an allow-list. */
import { isIP } from 'node:net';
import { parseEgressEntry } from './egress/egress-rules.ts';
import { readNpmSettings } from './npm-settings.ts';
import { readPackageSettings } from './package-settings.ts';

/** The public registries of languages, and the hosts that they hand out files from. Those of npm come from npm's own settings. */
const PUBLIC_REGISTRIES = [
  // Python
  'pypi.org',
  'files.pythonhosted.org',
  // Rust
  'index.crates.io',
  'static.crates.io',
  // Go
  'proxy.golang.org',
  'sum.golang.org',
  // Ruby
  'rubygems.org',
  'index.rubygems.org',
  // PHP
  'repo.packagist.org',
  'packagist.org',
  'api.github.com',
  'codeload.github.com',
  // Java
  'repo.maven.apache.org',
  'repo1.maven.org',
] as const;
/** Registries that npm, Yarn and Bun ask where no setting names another. */
const NPM_REGISTRIES: readonly string[] = ['registry.npmjs.org', 'registry.yarnpkg.com'];

/**
 * Read once: npm takes a moment to say its settings. Registries that this machine's own settings name may be in a private
 * network.
 * @param namesOnly leaves out entries with a port or an address, which E2B's firewall cannot enforce
 */
export async function packageRegistries({ namesOnly }: { readonly namesOnly: boolean }): Promise<readonly string[]> {
  own ??= readNpmSettings().then(({ registries }) => registries);
  const known: readonly string[] = [...NPM_REGISTRIES, ...PUBLIC_REGISTRIES];
  const named = [...(await own), ...readPackageSettings().hosts].filter((entry) => !known.includes(entry));
  const others = named
    .map((entry) => (namesOnly ? entry : `internal:${entry}`))
    .filter((entry) => {
      const parsed = parseEgressEntry(entry);
      return parsed !== null && !(namesOnly && (parsed.host !== entry || isIP(entry) !== 0));
    });
  return [...new Set([...known, ...others])];
}

let own: Promise<readonly string[]> | undefined;
