/** The server as the sweep starts it: put together as ever, with boundaries around what it works with. */
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { startOrchestrator } from '../src/compose.ts';
import { readServerConfig } from '../src/config.ts';
import { createUnsandboxedProvider } from '../src/sandboxes/unsandboxed.ts';
import { Boundaries } from './boundaries.ts';
import { Ledger } from './ledger.ts';
import { commitAsColleague } from './place.ts';
import type { ServerSetting } from './server-setting.ts';

const LONGEST_LIFE_MS = 3 * 60_000;

const { values } = parseArgs({
  options: { port: { type: 'string' }, data: { type: 'string' } },
  allowPositionals: true,
});
// Whoever started it ends it; should that one be killed or wait in vain for it, nobody else would.
setTimeout(() => process.exit(1), LONGEST_LIFE_MS).unref();
const setting = JSON.parse(process.env['CRASH_SETTING'] ?? '') as ServerSetting; // written by the sweep itself
const boundaries = new Boundaries({
  ledger: new Ledger(setting.ledger),
  killAt: setting.killAt,
  labels: setting.labels,
  beforeEffect: async (effect) => {
    const { colleague } = setting;
    if (colleague?.before === effect) await commitAsColleague(colleague.remote, colleague.message, colleague.files);
  },
});
boundaries.watchModels(process.env['OPENAI_COMPATIBLE_BASE_URL'] ?? '');
if (process.env['GITHUB_API_URL'] !== undefined) boundaries.watchForge(process.env['GITHUB_API_URL']);

const orchestrator = await startOrchestrator({
  config: readServerConfig({ ...process.env, AUTONOMOUS_DATA: values.data, ORCHESTRATOR_PORT: values.port }),
  log: pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true })),
  ...(setting.sandboxed ? {} : { sandboxes: createUnsandboxedProvider() }),
  ...boundaries.compose,
});
boundaries.isUp();
process.once('SIGTERM', () => void stop());
process.stdout.write(`  address   ${orchestrator.server.url}\n`);

async function stop(): Promise<void> {
  await boundaries.leave();
  await orchestrator.stop();
  process.exit(0);
}
