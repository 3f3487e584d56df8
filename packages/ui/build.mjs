/**
 * Makes the one file that both hosts load, with its styles and the icons' font: `dist/app/`.
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

const here = import.meta.dirname;
const out = path.join(here, 'dist', 'app');
const require = createRequire(import.meta.url);

const stamp = path.join(out, '.stamp');
const wanted = hashOfSources();
if (process.argv.includes('--if-stale') && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) process.exit(0);

const PROGRAM = '?program';
const NO_ELK = `export default class {
  constructor() {
    throw new Error('the layout "elk" is not part of this build');
  }
}`;

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

/** @type {import('rolldown').Plugin} */
const withoutElk = {
  // A layout that no plan asks for, and 8 MB large: a diagram that names it is told so.
  name: 'without-elk',
  resolveId: (id) => (id.startsWith('elkjs/') ? '\0elkjs' : undefined),
  load: (id) => (id === '\0elkjs' ? NO_ELK : undefined),
};
/** @type {import('rolldown').Plugin} */
const asProgram = {
  // `file.ts?program` is what that file is built to, as one text: the page hands it to a frame, where it runs.
  name: 'as-program',
  resolveId: (id, importer) =>
    id.endsWith(PROGRAM) && importer !== undefined ? path.resolve(path.dirname(importer), id) : undefined,
  async load(id) {
    if (!id.endsWith(PROGRAM)) return undefined;
    const program = await rolldown(options(id.slice(0, -PROGRAM.length), [withoutElk]));
    const { output: files } = await program.generate({ format: 'iife', minify: true, codeSplitting: false });
    await program.close();
    if (files.length !== 1) throw new Error(`One program was to be made, not ${files.length}`);
    return { code: `export default ${JSON.stringify(files[0].code)};`, moduleType: 'js' };
  },
};
const bundle = await rolldown(options(path.join(here, 'src', 'app.tsx'), [asProgram]));
// Web views load one file; the dashboard takes the same.
const { output } = await bundle.write({
  file: path.join(out, 'app.js'),
  format: 'esm',
  minify: true,
  codeSplitting: false,
});
await bundle.close();
if (output.length !== 1) throw new Error(`One file was to be made, not ${output.length}`);

const icons = path.dirname(require.resolve('@vscode/codicons/dist/codicon.css'));
copyFileSync(path.join(icons, 'codicon.ttf'), path.join(out, 'codicon.ttf'));
const codicon = readFileSync(path.join(icons, 'codicon.css'), 'utf8').replace(/codicon\.ttf\?[0-9a-f]+/, 'codicon.ttf');
writeFileSync(path.join(out, 'codicon.css'), codicon);
for (const name of ['app.css', 'theme.css', 'icon.svg', 'manifest.webmanifest']) {
  copyFileSync(path.join(here, 'src', name), path.join(out, name));
}
// Last, so that a build that was cut off is none.
writeFileSync(stamp, wanted);

/**
 * @param {string} input
 * @param {import('rolldown').Plugin[]} plugins
 * @returns {import('rolldown').InputOptions}
 */
function options(input, plugins) {
  return {
    input,
    platform: 'browser',
    plugins,
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog(level, log, handle) {
      if (log.code !== 'EVAL') handle(level, log);
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
