/**
 * Remembers open panels in a file of the extension's own. The editor restores panels by itself, but in a browser it
 * stores the open ones only every few seconds. A window that is reloaded before that loses a panel that was just
 * opened.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Screen } from '@autonomous/ui';
import { placeOf, readScreen } from './from-web-view.ts';

export interface PanelMemory {
  /** A panel shows this screen now. */
  keep(title: string, screen: Screen): void;
  /** The person closed the panel, or it shows something else. */
  forget(screen: Screen): void;
  /** Returns the last screen of the panel with this title; `null` when it is not known. */
  recall(title: string): Screen | null;
  /** The part of it that was shown last, where the editor's own note may be older. */
  latest(screen: Screen): Screen;
  /** Returns the screens that were opened a short while ago, were not closed, and have none of these titles. */
  lost(titles: ReadonlySet<string>): readonly Screen[];
}

interface Kept {
  readonly title: string;
  readonly screen: Screen;
  readonly isOpen: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const MAX_KEPT = 30;
/** Older panels were saved by the editor, or closed by the person in another window. */
const LOST_WITHIN_MS = 120_000;

/** @param file `null` where there is nowhere to write: nothing is remembered then */
export function createPanelMemory(file: string | null, now: () => number = Date.now): PanelMemory {
  // Read each time: another window of the same folder writes it, too.
  const read = (): readonly Kept[] => {
    if (file === null) return [];
    try {
      const kept: unknown = JSON.parse(readFileSync(file, 'utf8'));
      return Array.isArray(kept) ? kept.flatMap(readKept) : [];
    } catch {
      // None was written yet, or a disk that was full cut it off.
      return [];
    }
  };
  const write = (kept: readonly Kept[]): void => {
    if (file === null) return;
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(`${file}.new`, JSON.stringify(kept.slice(0, MAX_KEPT)));
      renameSync(`${file}.new`, file);
    } catch {
      // A panel that does not come back is no reason to fail.
    }
  };
  const others = (screen: Screen): readonly Kept[] => read().filter((each) => placeOf(each.screen) !== placeOf(screen));
  return {
    keep: (title, screen) => write([{ title, screen, isOpen: true, at: now() }, ...others(screen)]),
    forget(screen) {
      const place = placeOf(screen);
      write(read().map((each) => (placeOf(each.screen) === place ? { ...each, isOpen: false } : each)));
    },
    latest: (screen) => read().find((each) => placeOf(each.screen) === placeOf(screen))?.screen ?? screen,
    recall: (title) => read().find((each) => each.title === title)?.screen ?? null,
    lost: (titles) =>
      read()
        .filter(({ title, isOpen, at }) => isOpen && now() - at < LOST_WITHIN_MS && !titles.has(title))
        .map(({ screen }) => screen)
        .toReversed(),
  };
}

function readKept(value: unknown): readonly Kept[] {
  const { title, screen, isOpen, at } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const known = readScreen(screen);
  const isOne = typeof title === 'string' && typeof at === 'number' && known !== null;
  return isOne ? [{ title, screen: known, isOpen: isOpen === true, at }] : [];
}
