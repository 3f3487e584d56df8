/**
 * Carries the TypeScript declarations of a package's entry points: the files that they reach in the builds of
 * `packages/orchestrator` and `packages/shared`, with imports that hold outside of the workspace.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ROOT } from './facts.ts';

const PACKAGES = path.join(ROOT, 'packages');
const SHARED = '@autonomous/shared';
const SHARED_ENTRIES: Readonly<Record<string, string>> = {
  [SHARED]: 'shared/index.d.ts',
  [`${SHARED}/client`]: 'shared/client.d.ts',
  [`${SHARED}/presentation`]: 'shared/presentation.d.ts',
  [`${SHARED}/api`]: 'shared/api/routes.d.ts',
  [`${SHARED}/diagram`]: 'shared/diagram.d.ts',
};
/** In `from '…'`, `import '…'` and `import("…")`. */
const SPECIFIER = /(\bfrom |\bimport |\bimport\()(['"])([^'"\n]+)\2/g;

/**
 * @param entries such as `orchestrator/library.d.ts`, from `packages` without the folder `dist`
 * @param out absolute folder, for the files at the same paths
 * @throws {Error} when a file was not built
 */
export async function carryDeclarations(entries: readonly string[], out: string): Promise<void> {
  const seen = new Set(entries);
  // Grows while it is read.
  for (const file of seen) {
    const [name = '', ...rest] = file.split('/');
    const text = await readFile(path.join(PACKAGES, name, 'dist', ...rest), 'utf8').catch(() => {
      throw new Error(`packages/${name}/dist/${rest.join('/')} is missing: build the workspace first (npm run build).`);
    });
    const carried = text
      .replaceAll(SPECIFIER, (all, before: string, quote: string, specifier: string) => {
        const target = targetOf(specifier, file);
        if (target === null) return all;
        seen.add(target);
        return `${before}${quote}${relativeTo(file, target)}${quote}`;
      })
      .replace(/^\/\/# sourceMappingURL=.*$/m, '');
    await mkdir(path.dirname(path.join(out, file)), { recursive: true });
    await writeFile(path.join(out, file), carried);
  }
}

/** `null` for other packages. */
function targetOf(specifier: string, importer: string): string | null {
  if (!specifier.startsWith('.')) return SHARED_ENTRIES[specifier] ?? null;
  return path.posix.join(path.posix.dirname(importer), specifier.replace(/\.[jt]s$/, '.d.ts'));
}

function relativeTo(importer: string, target: string): string {
  const relative = path.posix.relative(path.posix.dirname(importer), target).replace(/\.d\.ts$/, '.js');
  return relative.startsWith('.') ? relative : `./${relative}`;
}
