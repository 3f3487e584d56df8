/**
 * Builds what the package of the extension holds: `dist/extension.cjs`, which the editor loads, and in `dist/webview/` the
 * screens as packages/ui has built them.
 */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { carriedPackages } from '../../tools/carried-packages.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');
const screens = join(here, '..', 'ui', 'dist');
const SCREEN_FILES = ['web-view/app.js', 'app/app.css', 'app/codicon.css', 'app/codicon.ttf'];

rmSync(dist, { recursive: true, force: true });
const carried = carriedPackages();
const bundle = await rolldown({
  input: join(here, 'src', 'extension.ts'),
  external: ['vscode'],
  platform: 'node',
  plugins: [carried.plugin],
  // A module that nobody uses anything of is left out, whatever it does when it is loaded: ours do nothing then.
  treeshake: { moduleSideEffects: false },
});
await bundle.write({ file: join(dist, 'extension.cjs'), format: 'cjs', minify: true, sourcemap: 'hidden' });
await bundle.close();
carried.write(join(dist, 'carried-packages.json'));

mkdirSync(join(dist, 'webview'), { recursive: true });
const missing = SCREEN_FILES.filter((file) => !existsSync(join(screens, file)));
for (const file of SCREEN_FILES)
  if (!missing.includes(file)) cpSync(join(screens, file), join(dist, 'webview', basename(file)));
if (missing.length > 0) {
  process.stderr.write(
    `[build] without ${missing.join(', ')}: panels stay empty until packages/ui has been built (its dist).\n`,
  );
}
