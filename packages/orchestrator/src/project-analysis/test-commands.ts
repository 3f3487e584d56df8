/** Derives the command that runs a project's tests from its manifests. */
import { chooseNodeTool, nodeToolCall, programsOfCall } from './installation/node-tool.ts';
import { fieldOf, type FoundCommand, hasLine, parseJson, type ProjectTree } from './project-tree.ts';

/** All that the folder's files name, the one to be run first: package.json, Makefile, pytest, Cargo, Go. */
export async function findTestCommands(tree: ProjectTree): Promise<readonly FoundCommand[]> {
  const found = await Promise.all(
    [testOfNode, testOfMake, testOfPython, testOfRust, testOfGo].map((find) => find(tree)),
  );
  const tests = found.filter((test) => test !== null);
  // A Makefile is the project's own choice among its other commands.
  return tests.some(({ source }) => isMakefile(source)) ? tests.filter(({ source }) => !isOfCompiler(source)) : tests;
}

async function testOfNode(tree: ProjectTree): Promise<FoundCommand | null> {
  const source = 'package.json';
  const scripts = fieldOf(parseJson(await tree.read(source)), 'scripts');
  const script = fieldOf(scripts, 'test');
  if (typeof script !== 'string' || script.trim() === '' || script.includes('no test specified')) return null;
  const choice = await chooseNodeTool(tree);
  const call = await nodeToolCall(tree, choice);
  return {
    command: `${call} ${choice.tool === 'bun' ? 'run test' : 'test'}`,
    source,
    programs: programsOfCall(call, choice),
  };
}

async function testOfMake(tree: ProjectTree): Promise<FoundCommand | null> {
  const source = MAKEFILES.find((file) => tree.has(file));
  if (source === undefined) return null;
  if (!hasLine(await tree.read(source), isMakeTestRule)) return null;
  const compilers = [...(tree.has('go.mod') ? ['go'] : []), ...(tree.has('Cargo.toml') ? ['cargo'] : [])];
  // Of several languages a rule may leave one out.
  return { command: 'make test', source, programs: ['make', ...(compilers.length === 1 ? compilers : [])] };
}

async function testOfPython(tree: ProjectTree): Promise<FoundCommand | null> {
  const first = await tree.find(
    (path) => path.endsWith('.py') && /^(test_.*|.*_test)\.py$/.test(path.slice(path.lastIndexOf('/') + 1)),
  );
  if (first === undefined) return null;
  const configuration = ['pytest.ini', 'pyproject.toml', 'tox.ini', 'setup.cfg'].find((file) => tree.has(file));
  return { command: 'python3 -m pytest', source: configuration ?? first, programs: ['python3'] };
}

async function testOfRust(tree: ProjectTree): Promise<FoundCommand | null> {
  const source = 'Cargo.toml';
  return tree.has(source) ? { command: 'cargo test', source, programs: ['cargo'] } : null;
}

async function testOfGo(tree: ProjectTree): Promise<FoundCommand | null> {
  const source = 'go.mod';
  return tree.has(source) ? { command: 'go test ./...', source, programs: ['go'] } : null;
}

const MAKEFILES = ['GNUmakefile', 'makefile', 'Makefile'];

function isMakefile(source: string): boolean {
  return MAKEFILES.includes(source);
}

function isOfCompiler(source: string): boolean {
  return source === 'Cargo.toml' || source === 'go.mod';
}

/** A rule may name several targets; `test := x` is a variable. */
function isMakeTestRule(line: string): boolean {
  const colon = line.indexOf(':');
  const targets = line.slice(0, Math.max(colon, 0));
  if (/^\s|[#=]/.test(targets) || /^:?[:=]/.test(line.slice(colon + 1))) return false;
  return targets.split(/[ \t]/).includes('test');
}
