/**
 * Makes what the hosts load. A browser: `dist/app/`, with the styles and the icons' font; what draws diagrams and PDFs are files
 * of their own there, nine tenths of all, which wait for the first diagram and the first PDF. A web view: `dist/web-view/`, one script with everything
 * in it, since each further one is a way through the editor's service worker.
 *
 * Usage: node build.mjs [--if-stale]
 */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { carriedPackages } from '../../tools/carried-packages.mjs';

const here = import.meta.dirname;
const out = path.join(here, 'dist', 'app');
const forWebViews = path.join(here, 'dist', 'web-view');
const require = createRequire(import.meta.url);

const carried = carriedPackages();
const stamp = path.join(out, '.stamp');
const wanted = hashOfSources();
if (process.argv.includes('--if-stale') && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) process.exit(0);
process.stderr.write('[setup] building the dashboard; this takes about half a minute\n');

const NO_ELK = `export default class {
  constructor() {
    throw new Error('the layout "elk" is not part of this build');
  }
}`;

for (const folder of [out, forWebViews]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

// A layout that no plan asks for, and 8 MB large: a diagram that names it is told so.
/** @type {import('rolldown').Plugin} */
const withoutElk = {
  name: 'without-elk',
  resolveId: (id) => (id.startsWith('elkjs/') ? '\0elkjs' : undefined),
  load: (id) => (id === '\0elkjs' ? NO_ELK : undefined),
};
const PROGRAM = '?program';
/** Programs of frames: the name of each source and its folder in `src/components`, and the file of the dashboard. */
/** @type {Record<string, { folder: string, file: string }>} */
const PROGRAMS = {
  'drawing-frame': { folder: 'diagram', file: 'diagrams.js' },
  'pdf-frame': { folder: 'pdf', file: 'pdfs.js' },
};
/**
 * `drawing-frame.ts?program` gives what that file is built to as one text, when it is asked for: the page hands it to a
 * frame, where it runs.
 * @param {(name: string) => string} codeOf module that exports what gives the text, by the name of the program's source
 * @returns {import('rolldown').Plugin}
 */
const asProgram = (codeOf) => ({
  name: 'as-program',
  resolveId: (id, importer) =>
    id.endsWith(PROGRAM) && importer !== undefined ? path.resolve(path.dirname(importer), id) : undefined,
  load: (id) =>
    id.endsWith(PROGRAM)
      ? { code: codeOf(path.basename(id.slice(0, -PROGRAM.length), '.ts')), moduleType: 'js' }
      : undefined,
});
/** @type {Record<string, string>} */
const programs = {};
for (const [name, { folder, file }] of Object.entries(PROGRAMS)) {
  const program = await programOf(path.join(here, 'src', 'components', folder, `${name}.ts`));
  programs[name] = program;
  writeFileSync(path.join(out, file), program);
}
const inside = asProgram((name) => `export default async () => ${JSON.stringify(programs[name])};`);
const apart = asProgram(
  (name) => `export default async () => {
  const answer = await fetch(new URL(${JSON.stringify(PROGRAMS[name].file)}, import.meta.url));
  if (!answer.ok) throw new Error('the program that draws it could not be loaded; load the page again');
  return answer.text();
};`,
);
const app = path.join(here, 'src', 'app.tsx');
await writeOneFile(app, path.join(forWebViews, 'app.js'), [inside]);
await writeFiles(app, out, [apart]);

const icons = path.dirname(require.resolve('@vscode/codicons/dist/codicon.css'));
copyFileSync(path.join(icons, 'codicon.ttf'), path.join(out, 'codicon.ttf'));
const codicon = readFileSync(path.join(icons, 'codicon.css'), 'utf8').replace(/codicon\.ttf\?[0-9a-f]+/, 'codicon.ttf');
writeFileSync(path.join(out, 'codicon.css'), codicon);
// Few enough to go with ours: a file of their own would be one more request.
const plots = readFileSync(require.resolve('uplot/dist/uPlot.min.css'), 'utf8');
writeFileSync(path.join(out, 'app.css'), `${plots}\n${readFileSync(path.join(here, 'src', 'app.css'), 'utf8')}`);
for (const name of ['theme.css', 'icon.svg', 'manifest.webmanifest']) {
  copyFileSync(path.join(here, 'src', name), path.join(out, name));
}
for (const file of ['@vscode/codicons/package.json', 'uplot/package.json'])
  carried.add(path.dirname(require.resolve(file)));
carried.write(path.join(here, 'dist', 'carried-packages.json'));
// Last, so that a build that was cut off is none.
writeFileSync(stamp, wanted);

/**
 * @param {string} input
 * @param {string} file
 * @param {import('rolldown').Plugin[]} plugins
 */
async function writeOneFile(input, file, plugins) {
  const bundle = await rolldown(options(input, plugins));
  const { output } = await bundle.write({ file, format: 'esm', minify: true, codeSplitting: false });
  await bundle.close();
  if (output.length !== 1) throw new Error(`One file was to be made of ${input}, not ${output.length}`);
}

/**
 * `app.js` with what is shown first, `lazy-screens.js` with what `import()` asks for, and `runtime.js` with the few lines of the
 * bundler that both need.
 * @param {string} input
 * @param {string} dir
 * @param {import('rolldown').Plugin[]} plugins
 */
async function writeFiles(input, dir, plugins) {
  const bundle = await rolldown(options(input, plugins));
  const { output } = await bundle.write({
    dir,
    format: 'esm',
    minify: true,
    entryFileNames: 'app.js',
    chunkFileNames: ({ name }) => (name === 'rolldown-runtime' ? 'runtime.js' : '[name].js'),
  });
  await bundle.close();
  const made = output.map(({ fileName }) => fileName).toSorted();
  if (made.join() !== 'app.js,lazy-screens.js,runtime.js')
    throw new Error(`Of ${input}, there were made: ${made.join(', ')}`);
}

/** @param {string} input */
async function programOf(input) {
  const bundle = await rolldown(options(input, [withoutElk]));
  const { output } = await bundle.generate({ format: 'iife', minify: true, codeSplitting: false });
  await bundle.close();
  if (output.length !== 1) throw new Error(`One program was to be made of ${input}, not ${output.length}`);
  return output[0].code;
}

/**
 * @param {string} input
 * @param {import('rolldown').Plugin[]} plugins
 * @returns {import('rolldown').RolldownOptions}
 */
function options(input, plugins) {
  return {
    input,
    cwd: here,
    platform: 'browser',
    plugins: [...plugins, carried.plugin],
    // The contract's schemas are the server's; a module of it that nobody uses anything of does nothing when it is loaded.
    treeshake: { moduleSideEffects: [{ test: /\/(?:packages\/shared|zod)\//, sideEffects: false }] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog(level, log, handle) {
      // Where pdf.js would load parts of its own from: nothing in its frame can load any.
      if (log.code === 'EMPTY_IMPORT_META') return;
      if (log.code !== 'EVAL' && log.code !== 'PLUGIN_TIMINGS') handle(level, log);
    },
  };
}

/** Of everything that the build is made from: another one means that it is stale. */
function hashOfSources() {
  const hash = createHash('sha256');
  const root = path.join(here, '..', '..');
  for (const folder of [path.join(here, 'src'), path.join(root, 'packages', 'shared', 'src')]) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
      const file = path.join(folder, name);
      if (statSync(file).isFile() && !name.includes('.test.')) hash.update(name).update(readFileSync(file));
    }
  }
  hash.update(readFileSync(import.meta.filename));
  return hash.update(readFileSync(path.join(root, 'pnpm-lock.yaml'))).digest('hex');
}
