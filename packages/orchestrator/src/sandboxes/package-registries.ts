/** Package registries of install steps, as entries of an allow-list. */
import { isIP } from 'node:net';
import { parseEgressEntry } from '../network/egress-rules.ts';
import { readNpmSettings } from './npm-settings.ts';
import { readPackageSettings } from './package-settings.ts';

/** Public registries of a language, the hosts that they hand out files from, and the programs that ask them. */
interface Registries {
  readonly programs: RegExp;
  readonly hosts: readonly string[];
}

const PUBLIC_REGISTRIES: readonly Registries[] = [
  // npm, Yarn and Bun ask them where no setting names another.
  {
    programs: /\b(?:npm|npx|pnpm|yarn|bun)\b|\bnode \.yarn\//,
    hosts: ['registry.npmjs.org', 'registry.yarnpkg.com'],
  },
  {
    programs: /\.install-python\.py\b|\b(?:pip3?|uv|poetry|pdm|pipenv)\b/,
    hosts: ['pypi.org', 'files.pythonhosted.org'],
  },
  { programs: /\bcargo\b/, hosts: ['index.crates.io', 'static.crates.io'] },
  { programs: /\bgo\b/, hosts: ['proxy.golang.org', 'sum.golang.org'] },
  { programs: /\b(?:bundle|gem)\b/, hosts: ['rubygems.org', 'index.rubygems.org'] },
  {
    programs: /\bcomposer\b/,
    hosts: ['repo.packagist.org', 'packagist.org', 'api.github.com', 'codeload.github.com'],
  },
  { programs: /\b(?:mvn|gradle)\b/, hosts: ['repo.maven.apache.org', 'repo1.maven.org'] },
];

/** Of the programs that an install step starts; all where it is not known or starts none of them. */
function publicRegistries(step: string | undefined): readonly string[] {
  const started = PUBLIC_REGISTRIES.filter(({ programs }) => step !== undefined && programs.test(step));
  return (started.length === 0 ? PUBLIC_REGISTRIES : started).flatMap(({ hosts }) => hosts);
}

/**
 * Read once: npm takes a moment to say its settings. Registries that this machine's own settings name may be in a private
 * network.
 * @param step command of an install step that was found from a project's files: only registries of its programs; absent: all
 * @param namesOnly leaves out entries with a port or an address, which E2B's firewall cannot enforce
 */
export async function packageRegistries({
  namesOnly,
  step,
}: {
  readonly namesOnly: boolean;
  readonly step?: string | undefined;
}): Promise<readonly string[]> {
  own ??= readNpmSettings().then(({ registries }) => registries);
  const known = publicRegistries(undefined);
  const named = [...(await own), ...readPackageSettings().hosts].filter((entry) => !known.includes(entry));
  const others = named
    .map((entry) => (namesOnly ? entry : `internal:${entry}`))
    .filter((entry) => {
      const parsed = parseEgressEntry(entry);
      return parsed !== null && !(namesOnly && (parsed.host !== entry || isIP(entry) !== 0));
    });
  return [...new Set([...publicRegistries(step), ...others])];
}

let own: Promise<readonly string[]> | undefined;
