/**
 * Appends to many runs at once without end and prints `<run> <sequence>` for each step that was acknowledged;
 * when that fails, how it failed, and how a write that comes later does.
 * Usage: node append-until-killed.fixture.ts <database> <runs> <nearest | thread | inline>
 */
import { writeSync } from 'node:fs';
import { openSqliteEventStore } from './sqlite-event-store.ts';
import { anEvent, aStep } from './steps.fixture.ts';

const [file = '', runs = '', writer] = process.argv.slice(2);
// A test may limit the size of files: the write then fails instead of ending the process.
process.on('SIGXFSZ', () => undefined);
const store = openSqliteEventStore({ file, writer: writer === 'inline' || writer === 'thread' ? writer : 'nearest' });
writeSync(1, 'opened\n');

async function appendWithoutEnd(runId: string): Promise<void> {
  for (let expectedSequence = 0; ; expectedSequence += 1) {
    const notice = { events: [anEvent('NOTICE', { message: 'x'.repeat(500) })] };
    await store.append(aStep(runId, { expectedSequence, ...(expectedSequence === 0 ? {} : notice) }));
    writeSync(1, `${runId} ${expectedSequence + 1}\n`);
  }
}

try {
  await Promise.all(Array.from({ length: Number(runs) }, (_, run) => appendWithoutEnd(`r-${run}`)));
} catch (error) {
  writeSync(1, `failed: ${String(error)}\n`);
}
try {
  await store.setMark('later', '1');
} catch (error) {
  writeSync(1, `later: ${String(error)}\n`);
}
process.exit(1);
