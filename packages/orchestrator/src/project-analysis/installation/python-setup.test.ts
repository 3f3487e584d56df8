/** The program that installs Python projects, with a real pip and packages on this machine. A package that is built leaves a file. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PYTHON_SETUP, PYTHON_SETUP_FILE, PYTHON_SETUP_PROGRAM } from './python-setup.ts';

let place: string;
let home: string;
beforeEach((context) => {
  if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) context.skip('python3 has no pip on this machine');
  place = realpathSync(mkdtempSync(path.join(tmpdir(), 'python-')));
  home = path.join(place, 'home');
  write({ [`home/${PYTHON_SETUP_FILE}`]: PYTHON_SETUP_PROGRAM });
  aWheel('built');
  aWheel('plain');
  aSourcePackage('built', 'project/sub');
  mkdirSync(path.join(place, 'index'), { recursive: true });
  execFileSync('tar', ['-czf', 'index/built-1.0.tar.gz', '--transform=s,^project/sub,built-1.0,', 'project/sub'], {
    cwd: place,
  });
  aSourcePackage('source', 'source-1.0');
  execFileSync('tar', ['-czf', 'index/source-1.0.tar.gz', 'source-1.0'], { cwd: place });
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(place, file)), { recursive: true });
    writeFileSync(path.join(place, file), text);
  }
}

/** Its build tool is its own file, so that nothing has to be fetched for it. */
function aSourcePackage(name: string, folder: string): void {
  write({
    [`${folder}/PKG-INFO`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${folder}/pyproject.toml`]: '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n',
    [`${folder}/evil.py`]: `open(${JSON.stringify(path.join(place, 'ran'))}, "w").close()\n`,
  });
}

function aWheel(name: string): void {
  const info = `${name}-1.0.dist-info`;
  write({
    [`${name}/${name}.py`]: '',
    [`${name}/${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${name}/${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${name}/${info}/RECORD`]: '',
  });
  mkdirSync(path.join(place, 'index'), { recursive: true });
  const file = path.join(place, 'index', `${name}-1.0-py3-none-any.whl`);
  execFileSync('python3', ['-m', 'zipfile', '-c', file, `${name}.py`, info], { cwd: path.join(place, name) });
}

function install(files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
  write(Object.fromEntries(Object.entries(files).map(([file, text]) => [`project/${file}`, text])));
  const index = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: path.join(place, 'index'), PIP_ROOT_USER_ACTION: 'ignore' };
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', PYTHON_SETUP], {
    cwd: path.join(place, 'project'),
    env: { PATH: process.env['PATH'], HOME: home, ...index, ...env },
    encoding: 'utf8',
  });
  const installed = ['built', 'plain', 'source'].filter((name) => {
    const python = path.join(home, '.venv/bin/python');
    return spawnSync(python, ['-c', `import importlib.metadata as m; m.version('${name}')`]).status === 0;
  });
  return { status, output: stdout + stderr, installed, ran: existsSync(path.join(place, 'ran')) };
}

it('takes the wheel of a package that a file of requirements wants to be built, and says so', () => {
  const result = install({ 'requirements.txt': '--no-binary :all:\nbuilt\n' });
  expect(result).toMatchObject({ status: 0, installed: ['built'], ran: false });
  expect(result.output).toContain('the option --no-binary :all: is left out, since install scripts are off');
});

it.each([
  ['a folder', { 'requirements.txt': './sub\n' }],
  ['an editable folder', { 'requirements.txt': '-e ./sub\n' }],
  [
    'an editable folder, in a file that another one includes',
    { 'requirements.txt': '-r more/in.txt\n', 'more/in.txt': '-e./sub' },
  ],
  ['a folder as a constraint', { 'requirements.txt': 'plain\n-c more.txt\n', 'more.txt': 'plain @ file:sub\n' }],
  ['an archive beside it', { 'requirements.txt': 'built.zip\n', 'built.zip': '' }],
  ['another repository', { 'requirements.txt': 'built @ git+https://example.com/built\n' }],
  ['an archive elsewhere', { 'requirements.txt': 'https://example.com/built-1.0.tar.gz#egg=built.whl\n' }],
  ['two lines in one', { 'requirements.txt': 'pla\\\nin @ \\\r\nfile:sub\n' }],
  ['the folder of a dependency', { 'pyproject.toml': '[project]\nname = "a"\ndependencies = ["built @ file:sub"]\n' }],
  ['the folder of a build tool', { 'pyproject.toml': '[build-system]\nrequires = ["built @ file:sub"]\n' }],
])('refuses what pip would build: %s', (_what, files) => {
  const result = install(files);
  expect(result).toMatchObject({ status: 1, ran: false });
  expect(result.output).toMatch(/which pip has to build, and install scripts are off\..*commands\.installScripts/);
});

it.each([
  ['[project]\nname = "a"\ndependencies = ["--no-binary=:all:", "built"]\n'],
  ['[project]\nname = "a"\n[build-system]\nrequires = ["-e", "sub"]\n'],
  ['[project]\nname = "a"\n[dependency-groups]\ntest = [" -rx"]\n'],
])('refuses an option in the place of a package, also where install scripts are allowed: %j', (manifest) => {
  const result = install({ 'pyproject.toml': manifest }, { AUTONOMOUS_INSTALL_SCRIPTS: 'true' });
  expect(result).toMatchObject({ status: 1, ran: false });
  expect(result.output).toMatch(/names '.*', which is no package/);
});

it('builds no build tool that has no wheel', () => {
  const manifest = '[build-system]\nrequires = ["source"]\n[project]\nname = "a"\n';
  expect(install({ 'pyproject.toml': manifest })).toMatchObject({ ran: false });
});

it('takes no module of the project for Python’s own', () => {
  const evil = `open(${JSON.stringify(path.join(place, 'ran'))}, "w").close()\n`;
  const modules = [
    'pip.py',
    'venv.py',
    'pytest.py',
    'subprocess.py',
    'sysconfig.py',
    'setuptools.py',
    'sitecustomize.py',
  ];
  const files = Object.fromEntries(modules.map((name) => [name, evil]));
  const result = install({ ...files, 'requirements.txt': 'plain\n', 'test_a.py': '' }, { PYTHONPATH: '' });
  expect(result).toMatchObject({ installed: ['plain'], ran: false });
});

it('builds packages where install scripts are allowed', () => {
  expect(install({ 'requirements.txt': './sub\n' }, { AUTONOMOUS_INSTALL_SCRIPTS: 'true' })).toMatchObject({
    ran: true,
  });
});

it('keeps versions, markers, hashes, constraints and places of wheels', () => {
  const wheel = readFileSync(path.join(place, 'index/plain-1.0-py3-none-any.whl'));
  const hash = createHash('sha256').update(wheel).digest('hex');
  write({ 'project/more/wheels/.keep': '' });
  execFileSync('mv', ['index/plain-1.0-py3-none-any.whl', 'project/more/wheels'], { cwd: place });
  const lines = [
    '# Packages',
    '-c constraints.txt',
    '--find-links wheels',
    `plain == 1.0 ; python_version > "3.6" \\\n  --hash=sha256:${hash} # the only one`,
    'nothing[extra]~=1.0 ; sys_platform == "win32"',
  ];
  const result = install({
    'requirements.txt': '-r more/main.txt\n',
    'more/main.txt': lines.join('\n'),
    'more/constraints.txt': 'plain>=0.9,!=0.95\n',
  });
  expect(result.output).not.toContain('left out');
  expect(result).toMatchObject({ status: 0, installed: ['plain'] });
});
