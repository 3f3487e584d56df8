/**
 * Plays a run with each of the external agents that are named, and the hooks with those that have them; an agent is installed when it is
 * first needed.
 *
 * Usage: npm run agents-e2e [-- NAME ...]     names: claude, opencode; claude when absent
 */
import { AGENTS } from './agents.ts';
import { playCompactionHooks } from './compaction-hooks.ts';
import { installAgent } from './install.ts';
import { play } from './play.ts';
import { playStopHook } from './stop-hook.ts';

const names = process.argv.length > 2 ? process.argv.slice(2) : ['claude'];
const unknown = names.filter((name) => !Object.hasOwn(AGENTS, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no agent ${unknown.join(', ')}; there are ${Object.keys(AGENTS).join(', ')}.\n`);
  process.exit(64);
}
let failed = 0;
for (const name of names) {
  const agent = AGENTS[name];
  if (agent === undefined) continue;
  const startedAt = performance.now();
  process.stdout.write(`${name}\n`);
  try {
    installAgent(name);
    const tell = (text: string) => process.stdout.write(`  ${text}\n`);
    await play(name, agent, tell);
    if (agent.hook !== undefined) {
      await playStopHook(name, agent.hook, tell);
      await playCompactionHooks(name, agent.hook, tell);
    }
    process.stdout.write(`  passed in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`);
  } catch (error) {
    failed += 1;
    process.stdout.write(`  failed: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}
process.stdout.write(`${names.length - failed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
