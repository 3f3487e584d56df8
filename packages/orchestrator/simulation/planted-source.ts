/** Plants bugs into sources as they are loaded: the files themselves stay as they are. */
import { registerHooks } from 'node:module';

export interface Replacement {
  /** Relative to the package's `src`. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

const SRC = new URL('../src/', import.meta.url).href;

/** For the modules that this thread loads from now on. */
export function plantSource(replacements: readonly Replacement[]): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const mine = replacements.filter(({ file }) => url === SRC + file);
      if (mine.length === 0) return loaded;
      const text =
        typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source ?? undefined);
      return { ...loaded, source: replaceOnce(text, mine) };
    },
  });
}

/** @throws when a text that is to be replaced does not occur exactly once */
export function replaceOnce(source: string, replacements: readonly Replacement[]): string {
  let text = source;
  for (const { file, find, replace } of replacements) {
    const count = text.split(find).length - 1;
    if (count !== 1)
      throw new Error(`'${find}' occurs ${count} times in ${file}: the planted bug has to follow the source.`);
    text = text.replace(find, () => replace);
  }
  return text;
}
