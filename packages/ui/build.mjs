/**
 * Makes what the hosts load. A browser: `dist/app/`, with the styles and the icons' font; what draws diagrams is a file of its
 * own there, four fifths of all, which waits for the first diagram. A web view: `dist/web-view/`, one script with everything
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

const here = import.meta.dirname;
const out = path.join(here, 'dist', 'app');
const forWebViews = path.join(here, 'dist', 'web-view');
const require = createRequire(import.meta.url);

const stamp = path.join(out, '.stamp');
const wanted = hashOfSources();
if (process.argv.includes('--if-stale') && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) process.exit(0);

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
const DIAGRAMS = './diagrams.js';
/** @type {import('rolldown').Plugin} */
const diagramsApart = {
  name: 'diagrams-apart',
  resolveId: (id) => (id === 'mermaid' ? { id: DIAGRAMS, external: true } : undefined),
};
const app = path.join(here, 'src', 'app.tsx');
await writeOneFile(app, path.join(forWebViews, 'app.js'), [withoutElk]);
await writeOneFile(app, path.join(out, 'app.js'), [diagramsApart]);
await writeOneFile('mermaid', path.join(out, DIAGRAMS), [withoutElk]);

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
// Last, so that a build that was cut off is none.
writeFileSync(stamp, wanted);

/**
 * @param {string} input
 * @param {string} file
 * @param {import('rolldown').Plugin[]} plugins
 */
async function writeOneFile(input, file, plugins) {
  const bundle = await rolldown({
    input,
    cwd: here,
    platform: 'browser',
    plugins,
    // The contract's schemas are the server's; a module of it that nobody uses anything of does nothing when it is loaded.
    treeshake: { moduleSideEffects: [{ test: /\/(?:packages\/shared|zod)\//, sideEffects: false }] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    onLog(level, log, handle) {
      if (log.code !== 'EVAL') handle(level, log);
    },
  });
  const { output } = await bundle.write({ file, format: 'esm', minify: true, codeSplitting: false });
  await bundle.close();
  if (output.length !== 1) throw new Error(`One file was to be made of ${input}, not ${output.length}`);
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
