/** Reads the phases of a roadmap's items, and takes no offence at anything else in the file. */
import path from 'node:path';
import { z } from 'zod';
import { MAX_ROADMAP_CHARACTERS, ROADMAP_PATH } from '../../workflows/roadmap-item/roadmap-file.ts';
import { readBounded } from './bounded-file.ts';
import { repositoryOf } from './repository-of.ts';
import type { ItemInPhase } from './stop-decision.ts';

/** Bytes of a character in UTF-8, at most. */
const BYTES_A_CHARACTER = 4;

export type RoadmapPhases =
  | { readonly kind: 'read'; readonly items: readonly ItemInPhase[] }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly fault: string };

/** The roadmap of the repository in which a folder lies; outside of repositories, that of the folder. */
export async function readRoadmapPhases(folder: string): Promise<RoadmapPhases> {
  const file = path.join((await repositoryOf(folder)) ?? folder, ROADMAP_PATH);
  const read = await readBounded(file, MAX_ROADMAP_CHARACTERS * BYTES_A_CHARACTER);
  return read.kind === 'read' ? parseRoadmapPhases(read.text) : read;
}

const itemSchema = z.object({
  id: z.string().nullable().catch(null),
  title: z.string().nullable().catch(null),
  workflowState: z.object({ phase: z.string().min(1) }),
});

/** Entries without a phase are left out. */
export function parseRoadmapPhases(text: string): RoadmapPhases {
  let json: unknown;
  try {
    json = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (error) {
    return { kind: 'unreadable', fault: error instanceof Error ? error.message : String(error) };
  }
  const roadmap = z.object({ items: z.array(z.unknown()) }).safeParse(json);
  if (!roadmap.success) return { kind: 'unreadable', fault: "it has no list 'items'" };
  return { kind: 'read', items: roadmap.data.items.flatMap(itemOf) };
}

function itemOf(entry: unknown): readonly ItemInPhase[] {
  const item = itemSchema.safeParse(entry);
  if (!item.success) return [];
  const { id, title, workflowState } = item.data;
  return [{ id: id ?? title ?? '', title: title ?? id ?? 'an item without a title', phase: workflowState.phase }];
}
