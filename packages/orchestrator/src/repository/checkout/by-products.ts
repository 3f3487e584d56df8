/**
 * Knows the files that tools leave behind and that nobody commits: caches, coverage, dependencies, build output. `.gitignore` of
 * the project counts first; this table is for what it forgets.
 */

import { eachInSlices } from '../../foreign-text/foreign-text-slices.ts';

interface Tool {
  readonly tool: string;
  /** Folders and files under these names are by-products anywhere. `*` stands for the beginning of a name. */
  readonly names: readonly string[];
  /** Folders of these names are by-products beside one of `beside`. */
  readonly folders?: readonly string[];
  readonly beside?: readonly string[];
}

/** One line a tool. */
const TOOLS: readonly Tool[] = [
  {
    tool: 'Python',
    names: ['__pycache__', '*.pyc', '*.pyo', '*.egg-info', '.eggs', '.venv'],
    folders: ['build', 'dist', 'venv'],
    beside: ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt'],
  },
  {
    tool: 'Python tools',
    names: [
      '.pytest_cache',
      '.mypy_cache',
      '.ruff_cache',
      '.tox',
      '.nox',
      '.hypothesis',
      '.coverage',
      '.ipynb_checkpoints',
    ],
    folders: ['htmlcov'],
    beside: ['pyproject.toml', 'setup.py', 'setup.cfg', 'tox.ini', '.coveragerc'],
  },
  { tool: 'npm, pnpm and yarn', names: ['node_modules', '.pnpm-store', 'npm-debug.log', 'yarn-error.log', '.npm'] },
  {
    tool: 'JavaScript builds',
    names: [
      '*.tsbuildinfo',
      '.next',
      '.nuxt',
      '.svelte-kit',
      '.turbo',
      '.parcel-cache',
      '.angular',
      '.eslintcache',
      '.stylelintcache',
    ],
    folders: ['dist', 'build', 'out'],
    beside: ['package.json'],
  },
  {
    tool: 'JavaScript tests',
    names: ['.nyc_output'],
    folders: ['coverage', 'test-results', 'playwright-report'],
    beside: ['package.json', 'deno.json'],
  },
  { tool: 'Rust', names: ['*.rs.bk'], folders: ['target'], beside: ['Cargo.toml'] },
  {
    tool: 'Java and Kotlin',
    names: ['*.class', '.gradle'],
    folders: ['target', 'build'],
    beside: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
  },
  { tool: '.NET', names: [], folders: ['bin', 'obj'], beside: ['*.csproj', '*.fsproj', '*.vbproj'] },
  { tool: 'Elixir', names: [], folders: ['_build', 'deps'], beside: ['mix.exs'] },
  { tool: 'Ruby', names: ['.bundle'], folders: ['coverage'], beside: ['Gemfile'] },
  {
    tool: 'C and C++',
    names: ['*.o', '*.gcda', '*.gcno', 'CMakeFiles'],
    folders: ['cmake-build-debug', 'cmake-build-release'],
    beside: ['CMakeLists.txt'],
  },
  { tool: 'Go', names: ['cover.out'] },
  { tool: 'Terraform', names: ['.terraform'] },
  { tool: 'the desktop', names: ['.DS_Store', 'Thumbs.db', 'desktop.ini'] },
];

/** Longest path that text is taken for, characters: no system opens a longer one. */
const MAX_PATH = 4_096;
/** Paths of one tool that are named. */
const NAMED = 5;

export interface Candidate {
  readonly path: string;
  readonly isFolder: boolean;
  /** Whether the folder that it lies in has a file of this name, or of an ending written `*.ending`. */
  readonly hasBeside: (name: string) => boolean;
}

export interface ByProducts {
  /** Whether a new path is a by-product; it is remembered for `described`. A folder counts with all that is in it. */
  isByProduct(candidate: Candidate): Promise<boolean>;
  /** A line for each tool of which something was found. */
  described(): readonly { readonly path: string; readonly reason: string }[];
}

/**
 * @param known all paths that the project has: of a kind that is among them, new ones are no by-products
 * @param asked text that names the paths that a run is to make, such as its plan
 */
export function createByProducts(known: Iterable<string>, asked: string): ByProducts {
  let kinds: Promise<ReadonlySet<string>> | null = null;
  const kindsOfProject = (): Promise<ReadonlySet<string>> => (kinds ??= kindsOf(known));
  const isAsked = askedFor(asked);
  const found = new Map<string, string[]>();
  return {
    async isByProduct(candidate) {
      const { path } = candidate;
      const name = nameOf(path);
      const tool = TOOLS.find((each) => matches(each, name, candidate));
      if (tool === undefined || isAsked(path) || (await kindsOfProject()).has(kindOf(tool, name))) return false;
      const paths = found.get(tool.tool) ?? [];
      paths.push(candidate.isFolder ? `${path}/` : path);
      found.set(tool.tool, paths);
      return true;
    },
    described: () =>
      [...found].map(([tool, paths]) => {
        const [first = '', ...others] = paths.toSorted();
        const named = others.slice(0, NAMED - 1);
        const more = others.length - named.length;
        const list = `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
        const also = others.length === 0 ? '' : `, like ${list}`;
        return {
          path: first,
          reason: `it is a by-product of ${tool} and not committed${also}; name it in the plan if it belongs to the project`,
        };
      }),
  };
}

function matches(
  { names, folders = [], beside = [] }: Tool,
  name: string,
  { isFolder, hasBeside }: Candidate,
): boolean {
  if (names.some((pattern) => fits(pattern, name))) return true;
  return isFolder && folders.includes(name) && beside.some(hasBeside);
}

function fits(pattern: string, name: string): boolean {
  return pattern.startsWith('*') ? name.endsWith(pattern.slice(1)) && name.length >= pattern.length : pattern === name;
}

/** The pattern of a table's line that a name fits: two names of one kind are alike. */
function kindOf({ tool, names }: Tool, name: string): string {
  return `${tool} ${names.find((pattern) => fits(pattern, name)) ?? name}`;
}

async function kindsOf(known: Iterable<string>): Promise<ReadonlySet<string>> {
  const kinds = new Set<string>();
  const names = new Set<string>();
  await eachInSlices(known, (path) => {
    for (const name of path.split('/')) {
      if (names.has(name)) continue;
      names.add(name);
      for (const tool of TOOLS) {
        if (tool.names.some((pattern) => fits(pattern, name)) || (tool.folders?.includes(name) ?? false))
          kinds.add(kindOf(tool, name));
      }
    }
  });
  return kinds;
}

/** `coverage` alone is a word; `coverage/`, or a name between backticks, is a path. */
function askedFor(asked: string): (path: string) => boolean {
  const words = asked.split(/[\s`'"()[\],;:<>|]+/).filter((word) => word.includes('/') || word.includes('.'));
  const quoted = [...asked.matchAll(/`([^`\n]{1,300})`/g)].map(([, text = '']) => text);
  const named = new Set([...words, ...quoted].map((word) => word.replace(/^\.?\//, '').replace(/\/$/, '')));
  // Worked out once: there may be hundreds of thousands of by-products.
  const onTheWay = new Set<string>();
  for (const each of named) {
    if (each.length > MAX_PATH) continue;
    for (let end = each.indexOf('/'); end > 0; end = each.indexOf('/', end + 1)) onTheWay.add(each.slice(0, end));
  }
  return (path) => onTheWay.has(path) || named.has(path) || named.has(nameOf(path));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
