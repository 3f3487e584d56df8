/**
 * Changes that can run code by themselves: without anybody calling them, once a file lies in a check-out, a clone, an editor, a
 * CI server or a package installation. One table, which docs/self-running-changes.md shows; a project or a server adds to it and
 * takes nothing away. Pure.
 */
import { lockfileSources, manifestKeys } from './self-running-content.ts';

/** A file before and after; `null` where it is not there. */
export interface ChangedFile {
  readonly path: string;
  readonly before: FileState | null;
  readonly after: FileState | null;
}

export interface FileState {
  /** As git writes it: `100755` is an executable file, `120000` a symbolic link, `160000` a submodule. */
  readonly mode: string;
  /** Id of its content. */
  readonly oid: string;
}

export interface SelfRunningChange {
  readonly path: string;
  readonly reason: string;
  /** What a person accepts with it: equal for equal content, wherever the base is. */
  readonly content: string;
}

/**
 * Rows of the table. A pattern that ends in `/` is a folder, one with `/` inside a path, any other a file name; each stands for it
 * anywhere in the tree, in any case, and `*` for any characters but `/`.
 */
export const SELF_RUNNING_PATHS: readonly { readonly patterns: readonly string[]; readonly reason: string }[] = [
  {
    patterns: [
      '.github/',
      '.gitlab-ci.yml',
      '.gitlab/',
      '.circleci/',
      '.travis.yml',
      'azure-pipelines*.yml',
      'azure-pipelines*.yaml',
      '.azure-pipelines/',
      'bitbucket-pipelines.yml',
      'Jenkinsfile*',
      '.drone.yml',
      '.woodpecker.yml',
      '.woodpecker/',
      '.buildkite/',
      '.gitea/',
      '.forgejo/',
      'appveyor.yml',
      '.appveyor.yml',
      '.cirrus.yml',
      '.semaphore/',
      '.teamcity/',
      'cloudbuild.yaml',
      'buildspec.yml',
      '.ci/',
      'netlify.toml',
      'vercel.json',
    ],
    reason: 'a CI or deployment service runs it with its own rights',
  },
  {
    patterns: [
      '.vscode/',
      '*.code-workspace',
      '.idea/',
      '.fleet/',
      '.zed/',
      '.nova/',
      '.sublime-project',
      '*.sublime-project',
      '.vs/',
      '.dir-locals.el',
      '.exrc',
      '.nvimrc',
      '.nvim.lua',
      '.lvimrc',
      '.devcontainer/',
      '.devcontainer.json',
      '.gitpod.yml',
      '.gitpod.Dockerfile',
      '.replit',
      'replit.nix',
      '.project',
      '.theia/',
    ],
    reason: 'an editor reads it when the folder is opened, and may start its tasks',
  },
  {
    patterns: [
      '.claude/',
      '.cursor/',
      '.cursor*',
      '.mcp.json',
      'mcp.json',
      'AGENTS.md',
      'AGENTS.*.md',
      'AGENT.md',
      'CLAUDE.md',
      'CLAUDE.*.md',
      'GEMINI.md',
      'QWEN.md',
      'copilot-instructions.md',
      '*.instructions.md',
      '*.prompt.md',
      '*.chatmode.md',
      'SKILL.md',
      '.windsurf/',
      '.windsurfrules',
      '.clinerules',
      '.clinerules/',
      '.roo/',
      '.roorules*',
      '.roomodes',
      '.aider*',
      '.continue/',
      '.codex/',
      '.gemini/',
      '.opencode/',
      'opencode.json*',
      '.amazonq/',
      '.kiro/',
      '.junie/',
      '.augment/',
      '.agents/',
      '.agent/',
      '.goosehints',
      '.autonomous/agents/',
      '.autonomous/skills/',
      '.autonomous/config.json',
    ],
    reason: 'coding agents take it for instructions, or start programs that it names',
  },
  {
    patterns: [
      '.husky/',
      '.githooks/',
      '.git-hooks/',
      'git-hooks/',
      '.huskyrc*',
      'lefthook.*',
      '.lefthook.*',
      '.lefthook/',
      '.lefthook-local/',
      '.pre-commit-config.*',
      '.pre-commit-hooks.*',
      '.overcommit.yml',
      '.lintstagedrc*',
      'lint-staged.config.*',
      '.simple-git-hooks.*',
      'simple-git-hooks.*',
      'commitlint.config.*',
      'captainhook.json',
    ],
    reason: 'git runs it on commits and pushes',
  },
  {
    patterns: [
      '.npmrc',
      '.yarnrc*',
      '.yarn/',
      '.pnp.*',
      '.pnpmfile.*',
      'pnpmfile.*',
      'pnpm-workspace.yaml',
      'bunfig.toml',
      'pip.conf',
      'pip.ini',
      '.pip/',
      '.pypirc',
      'uv.toml',
      '.condarc',
      'setup.py',
      'sitecustomize.py',
      'usercustomize.py',
      '*.pth',
      '.cargo/',
      'build.rs',
      'rust-toolchain*',
      '.bundle/',
      '.gemrc',
      'extconf.rb',
      'binding.gyp',
      '.mvn/',
      'gradle-wrapper.properties',
      'gradle-wrapper.jar',
      'init.gradle*',
      'NuGet.config',
      'Directory.Build.*',
      'auth.json',
    ],
    reason: 'a package manager or build tool reads it before anything is built, and runs what it names',
  },
  {
    patterns: [
      '.envrc',
      '.direnv/',
      '.tool-versions',
      'mise.toml',
      '.mise.toml',
      '.mise/',
      'devenv.nix',
      'flake.nix',
      'shell.nix',
      '.autoenv',
      '.ssh/',
      '.profile',
      '.bashrc',
      '.zshrc',
      '.bash_profile',
      '.zshenv',
    ],
    reason: 'a shell reads it when somebody enters the folder',
  },
  {
    patterns: ['.gitattributes', '.gitmodules', '.gitconfig', '.lfsconfig', '.mailmap', '.git-blame-ignore-revs'],
    reason: 'git reads it: filters, other repositories, or whose work is shown as whose',
  },
  { patterns: ['CODEOWNERS', 'OWNERS'], reason: 'it says who has to review what' },
  {
    patterns: [
      'Dockerfile',
      'Dockerfile.*',
      '*.Dockerfile',
      'Containerfile',
      'Containerfile.*',
      'docker-compose*.yml',
      'docker-compose*.yaml',
      'compose.yml',
      'compose.yaml',
      'compose.*.yml',
      'compose.*.yaml',
      '.dockerignore',
      'docker-bake.*',
      'Vagrantfile',
      'Procfile',
      'Tiltfile',
      'skaffold.yaml',
    ],
    reason: 'a container is made of it, with the rights of whoever starts it',
  },
];

/** What git says of a file's mode, beside its content. */
const MODES: Readonly<Record<string, string>> = {
  '100755': 'is executable now',
  '120000': 'is a symbolic link now',
  '160000': 'is another repository (a submodule) now',
};

/** Files whose content has to be read as well: some of their keys run code, the rest does not. */
export function hasSelfRunningContent(path: string): boolean {
  const name = folded(path).split('/').at(-1) ?? '';
  return manifestKeys(name) !== null || lockfileSources(name) !== null;
}

/**
 * Changes that can run code by themselves, in the order of `files`.
 * @param texts contents by id, of the files for which `hasSelfRunningContent` holds; one that is missing was too large to be read
 * @param more patterns of the project and the server, in addition to the table
 */
export function selfRunningChanges(
  files: readonly ChangedFile[],
  texts: ReadonlyMap<string, string>,
  more: readonly string[] = [],
): readonly SelfRunningChange[] {
  return files.flatMap((file) => changesOf(file, texts, more));
}

function changesOf(
  file: ChangedFile,
  texts: ReadonlyMap<string, string>,
  more: readonly string[],
): readonly SelfRunningChange[] {
  const { path, before, after } = file;
  const how = after === null ? 'removed' : before === null ? 'new' : 'changed';
  const content = after === null ? 'removed' : `${after.mode} ${after.oid}`;
  const listed = reasonOf(path, more);
  if (listed !== null) return [{ path, reason: `${how}: ${listed}`, content }];
  const mode = after === null || after.mode === before?.mode ? undefined : MODES[after.mode];
  return [
    ...(mode === undefined ? [] : [{ path, reason: `${how}: the file ${mode}`, content }]),
    ...contentChanges(file, texts),
  ];
}

/** The table's word on a path; `null` where it is not in it. */
function reasonOf(path: string, more: readonly string[]): string | null {
  const name = folded(path);
  const row = SELF_RUNNING_PATHS.find(({ patterns }) => patterns.some((pattern) => isMatch(name, pattern)));
  if (row !== undefined) return row.reason;
  return more.some((pattern) => isMatch(name, pattern)) ? 'the project or the server wants to see it' : null;
}

function contentChanges(
  { path, before, after }: ChangedFile,
  texts: ReadonlyMap<string, string>,
): readonly SelfRunningChange[] {
  if (after === null) return [];
  const name = folded(path).split('/').at(-1) ?? '';
  const read = manifestKeys(name) ?? lockfileSources(name);
  if (read === null) return [];
  const [was, is] = [before === null ? '' : texts.get(before.oid), texts.get(after.oid)];
  if (is === undefined || was === undefined) {
    return [{ path, reason: 'is too large to be looked through: it may run code by itself', content: after.oid }];
  }
  const known = read(was);
  return [...read(is)]
    .filter(([key, value]) => known.get(key) !== value)
    .map(([key, value]) => ({
      path,
      reason: `${known.has(key) ? 'changed' : 'new'}: ${oneLine(key, value)}`,
      content: `${key}=${value}`,
    }));
}

function oneLine(key: string, value: string): string {
  const text = value === '' ? key : `${key}: ${value}`;
  return text.slice(0, 1_000).replaceAll(/\s+/g, ' ').trim().slice(0, 300);
}

/** A path as file systems that fold names may read it: without case, compatibility forms, ignorable characters, dots at the end. */
function folded(path: string): string {
  return path
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .split('/')
    .map((part) => (/^\.+$/.test(part) ? part : trimmedEnd(part)))
    .join('/');
}

function trimmedEnd(part: string): string {
  let end = part.length;
  while (end > 0 && (part[end - 1] === '.' || part[end - 1] === ' ')) end--;
  return part.slice(0, end);
}

/** @param path folded already */
function isMatch(path: string, pattern: string): boolean {
  const wanted = folded(pattern);
  const parts = path.split('/');
  const names = wanted.split('/').filter((name) => name !== '');
  // A folder: some part above the last is it. A file: the last parts are it.
  const last = wanted.endsWith('/') ? parts.length - 1 : parts.length;
  for (let end = names.length; end <= last; end++) {
    if (!wanted.endsWith('/') && end !== parts.length) continue;
    if (names.every((name, index) => isName(parts[end - names.length + index] ?? '', name))) return true;
  }
  return false;
}

/** `*` stands for any characters; the parts between are looked for from left to right, so that time is linear. */
function isName(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
