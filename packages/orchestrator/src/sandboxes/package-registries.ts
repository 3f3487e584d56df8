/** Package registries of install steps, as entries of an allow-list. */
import { parseEgressEntry } from './egress/egress-rules.ts';
import { readNpmSettings } from './npm-settings.ts';

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
  // Java
  'repo.maven.apache.org',
  'repo1.maven.org',
] as const;

let all: Promise<readonly string[]> | undefined;

/** Read once: npm takes a moment to say its settings. */
export function packageRegistries(): Promise<readonly string[]> {
  all ??= readNpmSettings().then(({ registries }) => [
    ...registries.filter((entry) => parseEgressEntry(entry) !== null),
    ...PUBLIC_REGISTRIES,
  ]);
  return all;
}
