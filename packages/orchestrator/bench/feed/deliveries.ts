/** Compares the events that clients of the feed should have received with those that they received. */

export interface Deliveries {
  /** Events that each client was to hear. */
  readonly events: number;
  /** Over all clients: events that one never heard, heard again, or heard after a later one. */
  readonly missed: number;
  readonly doubled: number;
  readonly disordered: number;
}

/**
 * @param wanted positions of the log, in order
 * @param heard those that each client heard, in its order; later ones than the log's last do not count
 */
export function compare(wanted: readonly number[], heard: readonly (readonly number[])[]): Deliveries {
  const last = wanted.at(-1) ?? 0;
  let missed = 0;
  let doubled = 0;
  let disordered = 0;
  for (const positions of heard.map((all) => all.filter((position) => position <= last))) {
    const once = new Set(positions);
    missed += wanted.filter((position) => !once.has(position)).length;
    doubled += positions.length - once.size;
    disordered += positions.filter((position, index) => position < (positions[index - 1] ?? 0)).length;
  }
  return { events: wanted.length, missed, doubled, disordered };
}
