/**
 * The layers of this workspace, a reader of imports that reports where they are broken, and a reader of folders that are crowded.
 * Every file of `orchestrator/src` lies in one row and imports only rows below it, its own folder, and of its own row what
 * `apart` allows. The folder of a workflow is imported by its own files and by the list of workflows. Packages import only the packages that `PACKAGES` names. No files of a package's `src` import each other
 * in a circle. Imports of types count, because a type cannot be read without its file.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface SourceFile {
  /** Relative to `packages/`, with forward slashes: `orchestrator/src/engine/engine.ts`. */
  readonly path: string;
  readonly source: string;
}

/** Packages of this workspace that a package may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  orchestrator: ['shared'],
  ui: ['shared'],
  'vscode-extension': ['shared', 'ui'],
};

interface Layer {
  readonly row: number;
  /** May the folders of this row import each other? */
  readonly apart: 'never' | 'ports only' | 'freely';
  /** Folders, or files at the root of `src`. */
  readonly members: readonly string[];
}

const LAYERS: readonly Layer[] = [
  {
    row: 6,
    apart: 'freely',
    members: [
      'main.ts',
      'cli',
      'compose.ts',
      'composition',
      'server-setup',
      'config.ts',
      'data-folder.ts',
      'default-models.ts',
      'folder-holder.ts',
      'library.ts',
      'workflow-library.ts',
      'custom-workflows.ts',
      'lent-modules',
    ],
  },
  { row: 5, apart: 'never', members: ['server'] },
  { row: 4, apart: 'never', members: ['workflows', 'record', 'upkeep'] },
  { row: 3, apart: 'never', members: ['engine', 'activities'] },
  {
    row: 2,
    apart: 'ports only',
    members: [
      'event-store',
      'agents',
      'models',
      'sandboxes',
      'repository',
      'forges',
      'web-pages',
      'network',
      'processes',
    ],
  },
  {
    row: 1,
    apart: 'freely',
    members: [
      'core',
      'run-config',
      'roles',
      'project-analysis',
      'documents',
      'self-running',
      'secrets',
      'path-rules',
      'foreign-text',
    ],
  },
];

/** Folders of `workflows` that belong to no workflow. */
const SHARED_BY_WORKFLOWS = new Set(['parts']);
/** The list of the workflows, commands that read a workflow's own files, and the reader of roadmaps that the server is given. */
const MAY_IMPORT_WORKFLOWS = new Set([
  'workflows/index.ts',
  'cli/commands/launch/backlog.ts',
  'cli/commands/launch/plan.ts',
  'cli/commands/launch/roadmap-work.ts',
  'cli/commands/launch/topics.ts',
  'cli/commands/roadmap.ts',
  'cli/doctor/doctor-project.ts',
  'cli/hooks/roadmap-phases.ts',
  'cli/hooks/stop-decision.ts',
  'cli/roadmap-files.ts',
  'composition/roadmap-reader.ts',
]);

/**
 * Workflows whose runs start runs of another one: they may use its types, roles and activities. No source that decides the way of a run
 * is among them: those of a version are no other workflow's (`golden.test.ts`).
 */
const BUILT_ON: ReadonlyMap<string, string> = new Map([['research-and-plan', 'research']]);

/** Files of row 2 that other folders of row 2 may import: ports, what egress, agents and web pages share, and the start of processes. */
const PORTS = new Set([
  'event-store/event-store.ts',
  'agents/agent.ts',
  'models/model.ts',
  'sandboxes/sandbox.ts',
  'sandboxes/sandbox-files.ts',
  'network/checked-connection.ts',
  'network/egress-rules.ts',
  'processes/program.ts',
  'processes/inherited-descriptors.ts',
  'processes/private-socket.ts',
  'processes/small-process.ts',
  'repository/repository.ts',
  'web-pages/web-page.ts',
]);

/** The entry for clients of the server. The engine, which is a library of its own, loads none of it. */
const CLIENT = '@autonomous/shared/client';
const FIRST_ROW_OF_CLIENTS = 5;

/** Row 1 takes time, chance and the outside as arguments. */
const IMPURE_MODULES = /^node:(?!crypto$|path(\/|$)|url$|util$|assert(\/|$))/;
const IMPURE_CALLS =
  /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\brandomUUID\(|\brandomBytes\(|\bfetch\(|\bset(?:Timeout|Interval|Immediate)\(/;
/** These start, time and replace worker threads, or give others their turn. */
const MAY_BE_IMPURE = /^(documents\/plans\/mermaid|foreign-text\/foreign-text)/;

/** Files and folders in one folder of sources. */
const MAX_ENTRIES = 40;

/** All TypeScript files of all packages. */
export function readPackages(packagesFolder: string): readonly SourceFile[] {
  return globSync('*/{src,test,demo,bench}/**/*.{ts,tsx}', {
    cwd: packagesFolder,
    exclude: ['**/node_modules/**'],
  }).map((file) => ({
    path: file.replaceAll(path.sep, '/'),
    source: readFileSync(path.join(packagesFolder, file), 'utf8'),
  }));
}

/** Paths of all sources of the workspace, from its root with forward slashes. */
export function readSourcePaths(root: string): readonly string[] {
  return globSync('{packages,e2e,release,tools,examples}/**/*.{ts,tsx,mjs,cjs,js}', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }).map((file) => file.replaceAll(path.sep, '/'));
}

/** Folders with more files and folders than are found at a glance, one a line. Golden histories are no sources. */
export function findCrowdedFolders(sources: readonly string[]): readonly string[] {
  const entries = new Map<string, Set<string>>();
  for (const source of sources) {
    for (let place = source; place.includes('/'); place = path.posix.dirname(place)) {
      const folder = path.posix.dirname(place);
      entries.set(folder, (entries.get(folder) ?? new Set()).add(place));
    }
  }
  return [...entries]
    .filter(([, inside]) => inside.size > MAX_ENTRIES)
    .map(
      ([folder, inside]) =>
        `${folder} has ${inside.size} entries, and at most ${MAX_ENTRIES} are wanted; give a subject of its own a folder.`,
    );
}

/** Every broken rule in words, one a line; empty when the layers hold. */
export function findViolations(files: readonly SourceFile[]): readonly string[] {
  return [
    ...files.flatMap((file) => [...packageViolations(file), ...layerViolations(file)]),
    ...circleViolations(files),
  ];
}

/** Circles of imports among the files of `src` folders: at least one for each group of files that reach each other. */
function circleViolations(files: readonly SourceFile[]): readonly string[] {
  const imports = new Map(files.filter(({ path: file }) => isSource(file)).map((file) => [file.path, targetsOf(file)]));
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, chain: readonly string[]): void => {
    const start = chain.indexOf(file);
    if (start >= 0) {
      const circle = [...chain.slice(start), file].join(' → ');
      circles.push(`${circle} is a circle of imports; move what both ends need into a file that imports neither.`);
    }
    if (start >= 0 || finished.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...chain, file]);
    finished.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}

function isSource(file: string): boolean {
  return /^[^/]+\/src\//.test(file);
}

/** Files that a file imports by a relative path, from `packages/`. */
function targetsOf(file: SourceFile): readonly string[] {
  return importsOf(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => path.posix.join(path.posix.dirname(file.path), specifier));
}

/** Tests may use whatever they need of their own package, since nothing is built on them. */
function isTest(file: string): boolean {
  return /\.(test|contract|fixture)\.tsx?$/.test(file) || !isSource(file);
}

function packageViolations(file: SourceFile): readonly string[] {
  const [own = ''] = file.path.split('/');
  const allowed = PACKAGES[own];
  if (!allowed)
    return [`${file.path}: packages/${own} is in no row of PACKAGES in layers.ts; add it with what it may import.`];
  return importsOf(file).flatMap((specifier) => {
    const other = packageOf(file.path, specifier);
    if (other === own || other === undefined) return [];
    if (specifier.startsWith('.'))
      return [`${file.path} reaches into packages/${other} by a path; import @autonomous/${other}.`];
    if (allowed.includes(other)) return [];
    const may = allowed.length > 0 ? allowed.map((name) => `@autonomous/${name}`).join(' and ') : 'no other package';
    return [`${file.path} imports ${specifier}; ${own} may import ${may}.`];
  });
}

function packageOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(file), specifier).split('/')[0];
  return /^@autonomous\/([^/]+)/.exec(specifier)?.[1];
}

function layerViolations(file: SourceFile): readonly string[] {
  const prefix = 'orchestrator/src/';
  if (!file.path.startsWith(prefix) || isTest(file.path)) return [];
  const from = file.path.slice(prefix.length);
  const layer = layerOf(from);
  if (!layer) {
    return [
      `${file.path} lies in no layer; its place is one of ${LAYERS.flatMap(({ members }) => members).join(', ')}.`,
    ];
  }
  const imports = importsOf(file).flatMap((specifier) => {
    if (specifier === CLIENT && layer.row < FIRST_ROW_OF_CLIENTS)
      return [`${file.path} (row ${layer.row}) imports ${CLIENT}; only clients and the server need what it loads.`];
    if (!specifier.startsWith('.')) return [];
    const target = path.posix.join(path.posix.dirname(from), specifier);
    const reason = whyNot(from, layer, target);
    return reason ? [`${file.path} (row ${layer.row}) imports ${target}: ${reason}.`] : [];
  });
  return [...imports, ...impurities(file, from, layer)];
}

/** Why `from` must not import `target`; nothing when it may. */
function whyNot(from: string, layer: Layer, target: string): string | undefined {
  if (target.startsWith('..')) return 'it lies outside src';
  if (isTest(`orchestrator/src/${target}`)) return 'it is a test, which does not ship';
  const below = layerOf(target);
  if (!below) return 'it lies in no layer';
  const workflow = workflowOf(target);
  if (workflow !== undefined && !mayImport(from, workflow))
    return `nothing outside workflows/${workflow} imports it; put what both need into workflows/parts or activities`;
  if (below.row < layer.row || memberOf(from) === memberOf(target)) return undefined;
  if (below.row > layer.row) return `row ${below.row} stands above row ${layer.row}; imports go down only`;
  if (layer.apart === 'freely') return undefined;
  if (layer.apart === 'never') return `${memberOf(from)} and ${memberOf(target)} do not import each other`;
  return PORTS.has(target) ? undefined : `of another folder in row ${layer.row} only the port may be imported`;
}

function mayImport(from: string, workflow: string): boolean {
  const own = workflowOf(from);
  return own === workflow || MAY_IMPORT_WORKFLOWS.has(from) || (own !== undefined && BUILT_ON.get(own) === workflow);
}

function impurities(file: SourceFile, from: string, layer: Layer): readonly string[] {
  if (layer.row !== 1 || MAY_BE_IMPURE.test(from)) return [];
  const modules = importsOf(file).filter((specifier) => IMPURE_MODULES.test(specifier));
  const calls = file.source
    .split('\n')
    .flatMap((line) => (isComment(line) ? [] : (IMPURE_CALLS.exec(line)?.[0] ?? [])));
  return [...modules, ...calls].map(
    (what) => `${file.path} (row 1, pure) uses ${what}; take what it gives as an argument.`,
  );
}

function isComment(line: string): boolean {
  return /^\s*(\/?\*|\/\/)/.test(line);
}

function layerOf(file: string): Layer | undefined {
  return LAYERS.find(({ members }) => members.includes(memberOf(file)));
}

/** The workflow in whose folder a file lies; `undefined` for any other file. */
function workflowOf(file: string): string | undefined {
  const [, folder] = /^workflows\/([^/]+)\//.exec(file) ?? [];
  return folder === undefined || SHARED_BY_WORKFLOWS.has(folder) ? undefined : folder;
}

/** First folder of a path below `src`, or the file itself at its root. */
function memberOf(file: string): string {
  return file.split('/')[0] ?? file;
}

/** Static, side-effect, re-exporting and dynamic imports, types included, and modules that a worker is started from. */
function importsOf(file: SourceFile): readonly string[] {
  const patterns = [
    /^\s*(?:import|export)\b[^'";]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /^\s*import\s*['"]([^'"]+)['"]/gm,
    /\bimport\s*\(\s*['"]([^'"]+)['"]/g,
    /\bnew URL\(\s*['"]([^'"]+\.tsx?)['"]\s*,\s*import\.meta\.url/g,
  ];
  return patterns.flatMap((pattern) => [...file.source.matchAll(pattern)].flatMap(([, specifier]) => specifier ?? []));
}
