/** Finds the npm packages of which a bundle carries code: their licences go with it. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';

const MODULES = `${path.sep}node_modules${path.sep}`;

/**
 * Absolute folder of the npm package that a module is of; `null` for modules of the workspace and of the bundler.
 * @param {string} id as the bundler names the module
 */
export function packageFolderOf(id) {
  const file = id.startsWith('\0') ? id.slice(1) : id;
  const at = file.lastIndexOf(MODULES);
  if (at < 0) return null;
  const [scope = '', name = ''] = file.slice(at + MODULES.length).split(path.sep);
  return file.slice(0, at) + MODULES + (scope.startsWith('@') ? `${scope}${path.sep}${name}` : scope);
}

/** Collects the packages of several bundles for one list. */
export function carriedPackages() {
  /** @type {Set<string>} */
  const folders = new Set();
  return {
    /** @type {import('rolldown').Plugin} */
    plugin: {
      name: 'carried-packages',
      generateBundle(_, files) {
        for (const file of Object.values(files)) {
          if (file.type !== 'chunk') continue;
          for (const id of file.moduleIds) {
            const folder = packageFolderOf(id);
            if (folder !== null) folders.add(folder);
          }
        }
      },
    },
    /** @param {string} folder */
    add: (folder) => void folders.add(folder),
    /**
     * Writes the list as JSON, by paths from the file's folder.
     * @param {string} file
     */
    write(file) {
      const relative = [...folders].map((folder) => path.relative(path.dirname(file), folder)).toSorted();
      writeFileSync(file, `${JSON.stringify(relative, null, 2)}\n`);
    },
  };
}
