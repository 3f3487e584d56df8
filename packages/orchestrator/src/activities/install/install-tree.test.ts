/** The files of an install step with a network, from a real mirror: what an agent changed and the step could run is the base's. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  commitFiles,
  type Fixture,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import { isInstallInput } from '../../project-analysis/project-commands.ts';
import { installTree } from './install-tree.ts';
import type { ActivityTools } from '../tools.ts';

const BASE = {
  'package.json': '{"scripts":{"test":"node --test"}}',
  'pyproject.toml': '[project]\nname = "a"\n',
  'setup.py': 'base',
  'src/a.py': 'base',
  'crates/a/Cargo.toml': '[package]\nname = "a"\n',
  'old/package.json': '{}',
};

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path, { files: BASE });
});
afterEach(() => temporary.remove());

/** Files of the step that an agent changed, beside those that were kept as in the base. */
async function changed(files: Readonly<Record<string, string | null>>, { runsScripts = false } = {}) {
  const { repository, project } = fixture;
  const treeish = await commitFiles(fixture, 'autonomous/r1', files);
  const { tree, kept } = await installTree({ repository } as ActivityTools, {
    project,
    baseCommit: await mainHead(fixture),
    treeish,
    isInput: (file) => isInstallInput(file) || file === 'scripts/setup.sh',
    runsScripts,
    signal: new AbortController().signal,
  });
  const changes = await repository.changes(project, await mainHead(fixture), tree);
  return { taken: changes.map(({ path }) => path), kept };
}

it('are manifests and lockfiles as the run has them, new and removed ones too', async () => {
  const files = {
    'package.json':
      '{"scripts":{"test":"x","lint":"y"},"bin":"z","dependencies":{"hono":"4"},"packageManager":"pnpm@9.1.2"}',
    'package-lock.json': '{"packages":{"node_modules/hono":{"resolved":"https://registry.example.com/hono.tgz"}}}',
    'packages/b/package.json': '{"name":"b"}',
    'old/package.json': null,
    'bun.lockb': '\0',
    '.nvmrc': '24',
    'requirements.txt': 'flask==3.0\n',
    'pyproject.toml': '[project]\nname = "a"\ndependencies = ["flask"]\n[project.scripts]\na = "a:main"\n',
    'crates/a/Cargo.toml': '[package]\nname = "a"\n[dependencies]\nserde = "1"\n',
    'crates/b/Cargo.toml': '[package]\nname = "b"\n',
    // Without it Cargo fetches nothing.
    'crates/b/src/lib.rs': '',
    'go.mod': 'module a\nrequire example.com/b v1.0.0\n',
  };
  expect(await changed(files)).toEqual({ taken: Object.keys(files).sort(), kept: [] });
});

it.each<[file: string, text: string]>([
  ['.npmrc', 'git=./evil'],
  ['.yarnrc.yml', 'yarnPath: evil.cjs'],
  ['.pnpmfile.cjs', ''],
  ['pnpm-workspace.yaml', 'configDependencies: {}'],
  ['bunfig.toml', 'preload = ["./evil.ts"]'],
  ['setup.py', 'evil'],
  ['rust-toolchain.toml', '[toolchain]\npath = "evil"\n'],
  ['Gemfile', 'system "evil"\n'],
  ['a.gemspec', 'system "evil"\n'],
  ['Makefile', 'all:\n'],
  ['scripts/setup.sh', 'evil'],
  ['requirements.txt', '-e ./evil\n'],
  ['composer.json', '{"scripts":{"post-install-cmd":"evil"}}'],
  ['pyproject.toml', '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'],
  ['crates/a/Cargo.toml', '[package]\nname = "a"\nbuild = "evil.rs"\n'],
  ['package.json', '{"packageManager":"yarn@https://example.com/yarn.js"}'],
  ['package.json', '{"pnpm":{"configDependencies":{"evil":"1.0.0+sha512-x"}}}'],
  ['package.json', '{"scripts"'],
])('are the base’s where the step could run what an agent wrote: %s with %j', async (file, text) => {
  expect(await changed({ [file]: text })).toEqual({ taken: [], kept: [file] });
});

it('are the base’s where nothing of the step was changed: sources, settings in other folders, build scripts', async () => {
  const files = { 'src/a.py': 'evil', 'setuptools.py': 'evil', '.cargo/config.toml': 'evil', 'build.rs': 'evil' };
  expect(await changed(files)).toEqual({ taken: [], kept: [] });
});

it('are the base’s for scripts that an install runs, where the project allows them', async () => {
  const allowed = { runsScripts: true };
  const tested = '{"scripts":{"test":"x"},"dependencies":{"hono":"4"}}';
  expect(await changed({ 'package.json': tested }, allowed)).toEqual({ taken: ['package.json'], kept: [] });
  const installed = '{"scripts":{"test":"x","postinstall":"evil"}}';
  expect(await changed({ 'package.json': installed }, allowed)).toEqual({ taken: [], kept: ['package.json'] });
  expect(await changed({ 'package.json': installed })).toEqual({ taken: ['package.json'], kept: [] });
});
