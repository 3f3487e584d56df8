/** Engines that are measured, their settings, and the data that each can lose in a crash of the machine. */

export interface Entrant {
  /** As `--only` and the figures have it. */
  readonly name: string;
  readonly title: string;
  /** `ours` is compared with each `peer`; `limit` is what nothing can exceed. */
  readonly role: 'ours' | 'limit' | 'peer';
  /** Is what was acknowledged on disk, so that it survives the loss of power? */
  readonly synced: boolean;
  /** Where that comes from. */
  readonly durability: string;
  /** The adapter's module, from this folder. */
  readonly adapter: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly needs: readonly ('peers' | 'postgres')[];
}

export const ENTRANTS: readonly Entrant[] = [
  {
    name: 'autonomous',
    title: 'Autonomous',
    role: 'ours',
    synced: true,
    durability: 'SQLite FULL, group commit',
    adapter: 'autonomous.ts',
    settings: {},
    needs: [],
  },
  {
    name: 'raw',
    title: 'raw SQLite, ten inserts a run',
    role: 'limit',
    synced: true,
    durability: 'SQLite FULL, group commit',
    adapter: 'raw-sqlite.ts',
    settings: {},
    needs: [],
  },
  {
    name: 'langgraph',
    title: 'LangGraph, as it comes',
    role: 'peer',
    synced: false,
    durability: 'SQLite NORMAL, checkpoints written behind',
    adapter: '../peers/langgraph.mjs',
    settings: {},
    needs: ['peers'],
  },
  {
    name: 'langgraphSync',
    title: 'LangGraph, synced',
    role: 'peer',
    synced: true,
    durability: 'SQLite FULL, durability sync',
    adapter: '../peers/langgraph.mjs',
    settings: { durability: 'sync', synchronous: 'FULL' },
    needs: ['peers'],
  },
  {
    name: 'mastra',
    title: 'Mastra, libSQL',
    role: 'peer',
    synced: false,
    durability: 'SQLite NORMAL',
    adapter: '../peers/mastra.mjs',
    settings: {},
    needs: ['peers'],
  },
  {
    name: 'dbos',
    title: 'DBOS, PostgreSQL',
    role: 'peer',
    synced: true,
    durability: 'fsync and synchronous_commit on',
    adapter: '../peers/dbos.mjs',
    settings: {},
    needs: ['peers', 'postgres'],
  },
  {
    name: 'restate',
    title: 'Restate',
    role: 'peer',
    synced: true,
    durability: 'log synced',
    adapter: '../peers/restate.mjs',
    settings: {},
    needs: ['peers'],
  },
  {
    name: 'openworkflow',
    title: 'OpenWorkflow, SQLite',
    role: 'peer',
    synced: true,
    durability: 'SQLite FULL',
    adapter: '../peers/openworkflow.mjs',
    settings: {},
    needs: ['peers'],
  },
];
