import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ChangedFile, SELF_RUNNING_PATHS, selfRunningChanges } from './self-running.ts';

const added = (path: string, mode = '100644'): ChangedFile => ({ path, before: null, after: { mode, oid: 'new' } });
const edited = (path: string): ChangedFile => ({
  path,
  before: { mode: '100644', oid: 'old' },
  after: { mode: '100644', oid: 'new' },
});
const reasons = (path: string, before: string, after: string): string[] =>
  selfRunningChanges(
    [edited(path)],
    new Map([
      ['old', before],
      ['new', after],
    ]),
  ).map(({ reason }) => reason);

describe('the table of paths that can run code by themselves', () => {
  it('knows them anywhere in the tree, in any case and by names that some file systems read alike', () => {
    const paths = [
      '.github/workflows/ci.yml',
      'sub/.GitHub/workflows/x',
      '.gitlab-ci.yml',
      '.vscode/tasks.json',
      'a/b/.idea/x.xml',
      '.devcontainer/devcontainer.json',
      '.claude/settings.json',
      '.cursorrules',
      '.cursor/rules/x',
      '.mcp.json',
      'agents.md',
      'docs/CLAUDE.md',
      'GEMINI.md',
      '.github/copilot-instructions.md',
      '.husky/pre-commit',
      'lefthook.yml',
      '.pre-commit-config.yaml',
      '.npmrc',
      '.yarnrc.yml',
      '.pnpmfile.cjs',
      'pip.conf',
      '.cargo/config.toml',
      '.envrc',
      '.gitattributes',
      'src/.gitmodules',
      '.lfsconfig',
      'CODEOWNERS',
      'docs/codeowners',
      'Dockerfile',
      'Dockerfile.dev',
      'Containerfile',
      'compose.override.yml',
      'docker-compose.yml',
      '.autonomous/config.json',
      'setup.py',
      'build.rs',
      '.github./workflows/x',
      '.git\u200Bhub/workflows/x',
      'AGENTS.md ',
    ];
    const found = selfRunningChanges(
      paths.map((path) => added(path)),
      new Map(),
    );
    expect(paths.filter((path) => !found.some((change) => change.path === path))).toEqual([]);
  });

  it('leaves ordinary files alone', () => {
    const paths = ['src/github/index.ts', 'docs/docker.md', 'Makefile', 'src/agents.ts', 'README.md', 'src/vscode.ts'];
    expect(
      selfRunningChanges(
        paths.map((path) => added(path)),
        new Map(),
      ),
    ).toEqual([]);
  });

  it('knows a removal, a mode and a link', () => {
    const gone: ChangedFile = { path: 'CODEOWNERS', before: { mode: '100644', oid: 'old' }, after: null };
    const all = selfRunningChanges([gone, added('run.sh', '100755'), added('lib', '160000')], new Map());
    expect(all.map(({ reason }) => reason)).toEqual([
      'removed: it says who has to review what',
      'new: the file is executable now',
      'new: the file is another repository (a submodule) now',
    ]);
  });

  it('is extended by patterns of the project and never shortened by them', () => {
    const files = [added('db/1.sql'), added('.npmrc')];
    expect(selfRunningChanges(files, new Map(), ['DB/', '!.npmrc']).map(({ path }) => path)).toEqual([
      'db/1.sql',
      '.npmrc',
    ]);
  });

  it('stands in the documentation as it is in the code', () => {
    const page = readFileSync(new URL('../../../../docs/self-running-changes.md', import.meta.url), 'utf8');
    const rows = SELF_RUNNING_PATHS.map(
      ({ patterns, reason }) => `| ${patterns.map((pattern) => `\`${pattern}\``).join(' ')} | ${reason} |`,
    );
    expect(
      rows.filter((row) => !page.includes(row)),
      `put these rows into docs/self-running-changes.md`,
    ).toEqual([]);
  });
});

describe('manifests', () => {
  it('run code by scripts, binaries and dependencies from elsewhere, and by nothing else', () => {
    const before = JSON.stringify({
      version: '1.0.0',
      scripts: { test: 'a', build: 'b' },
      dependencies: { x: '^1.0.0' },
    });
    const after = JSON.stringify({
      version: '2.0.0',
      gypfile: true,
      scripts: { test: 'a', build: 'c', postinstall: 'node x' },
      dependencies: { x: '^2.0.0', y: 'git+https://evil.example/y.git', z: 'file:../z', w: 'workspace:*' },
    });
    expect(reasons('packages/a/package.json', before, after)).toEqual([
      'changed: scripts.build: c',
      'new: scripts.postinstall: node x',
      'new: gypfile: true',
      'new: dependencies.y: git+https://evil.example/y.git',
      'new: dependencies.z: file:../z',
    ]);
    expect(reasons('package.json', before, before.replace('1.0.0', '1.0.1'))).toEqual([]);
    expect(reasons('package.json', before, '{')[0]).toContain('it is no JSON');
  });

  it('name build back ends and entry points by sections', () => {
    const before = '[project]\nname = "x"\nversion = "1"\n[build-system]\nbuild-backend = "hatchling.build"\n';
    const after = before.replace('"1"', '"2"').replace('hatchling.build', 'evil') + '[project.scripts]\nx = "x:main"\n';
    expect(reasons('pyproject.toml', before, after)).toEqual([
      'changed: [build-system]: build-backend = "evil"',
      'new: [project.scripts]: x = "x:main"',
    ]);
  });
});

describe('lockfiles', () => {
  it('tell of new hosts and sources, not of new versions', () => {
    const registry = ['https://registry', 'npmjs.org'].join('.');
    const before = `{"packages":{\n"a":{\n"resolved": "${registry}/a/-/a-1.tgz",\n"funding": {\n"url": "https://pay.example"\n}}}}`;
    const after = before.replace('a-1', 'a-2').replace('pay', 'other');
    expect(reasons('package-lock.json', before, after)).toEqual([]);
    expect(reasons('package-lock.json', before, `${after}\n"resolved": "https://evil.example/b.tgz"`)).toEqual([
      'new: packages from https://evil.example',
    ]);
    expect(reasons('yarn.lock', '', '  resolved "git+ssh://git@github.com/o/r.git#abc"\n"b@file:../b":\n')).toEqual([
      'new: packages from ssh://github.com/o/r',
      'new: packages from file:../b',
    ]);
    expect(reasons('requirements-dev.txt', 'a==1\n', 'a==2\n--extra-index-url https://evil.example/simple\n')).toEqual([
      'new: packages from https://evil.example',
      'new: --extra-index-url https://evil.example/simple',
    ]);
  });

  it('take time in proportion to their size', () => {
    const hostile = `${'a'.repeat(2_000_000)}\n${'file:'.repeat(200_000)}\n${'://'.repeat(200_000)}\n${'git@'.repeat(100_000)}`;
    const from = performance.now();
    reasons('yarn.lock', '', hostile);
    expect(performance.now() - from).toBeLessThan(2_000);
  });
});
