/**
 * LangGraph with its SQLite saver. A run is a thread; the gate is an `interrupt`, which the approval resumes.
 * As it comes it writes checkpoints behind the step (durability `async`) and SQLite does not sync them: better-sqlite3 is
 * compiled to NORMAL for files in WAL mode. With durability `sync` and `synchronous = FULL` a checkpoint is on disk
 * before the next step.
 */
import path from 'node:path';
import { Annotation, Command, END, interrupt, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import Database from 'better-sqlite3';
import { workload, Workload } from '../contest/contender.ts';

const Change = Annotation.Root({
  id: Annotation(),
  plan: Annotation(),
  approved: Annotation(),
  implementation: Annotation(),
  verdict: Annotation(),
});

const Growth = Annotation.Root({
  steps: Annotation(),
  messages: Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] }),
});

/** @type {import('../contest/contender.ts').OpenContender} */
export async function open({ folder, settings }) {
  const database = new Database(path.join(folder, 'langgraph.db'));
  const checkpointer = new SqliteSaver(database);
  if (settings.synchronous) {
    // The saver itself sets the journal mode, and the level that fits it comes with the first write.
    await checkpointer.setup();
    database.pragma(`synchronous = ${settings.synchronous}`);
  }
  const change = new StateGraph(Change)
    .addNode('planning', ({ id }) => ({ plan: workload.plan(id) }))
    .addNode('gate', () => ({ approved: interrupt('Approve the plan') }))
    .addNode('implementing', ({ id }) => ({ implementation: workload.implement(id) }))
    .addNode('validating', ({ id }) => ({ verdict: workload.validate(id) }))
    .addEdge(START, 'planning')
    .addEdge('planning', 'gate')
    .addEdge('gate', 'implementing')
    .addEdge('implementing', 'validating')
    .addEdge('validating', END)
    .compile({ checkpointer });
  const growth = new StateGraph(Growth)
    .addNode('growing', () => ({ messages: [workload.grow()] }))
    .addEdge(START, 'growing')
    .addConditionalEdges('growing', ({ messages, steps }) => (messages.length < steps ? 'growing' : END))
    .compile({ checkpointer });
  const thread = (id, more) => ({
    configurable: { thread_id: id },
    ...(settings.durability ? { durability: settings.durability } : {}),
    ...more,
  });
  return {
    async start(id) {
      const state = await change.invoke({ id }, thread(id));
      if (!state.__interrupt__) throw new Error(`Run ${id} does not wait for its approval.`);
    },
    async approve(id) {
      const { verdict } = await change.invoke(new Command({ resume: true }), thread(id));
      Workload.check(id, verdict);
    },
    async grow(id, steps) {
      await growth.invoke({ steps }, thread(id, { recursionLimit: steps + 10 }));
    },
    async close() {
      database.close();
    },
  };
}
