/**
 * Appends to many runs at once without end and prints `<run> <sequence>` for each step that was acknowledged;
 * when that fails, how it failed, and how a write that comes later does.
 * Usage: node append-until-killed.fixture.ts <database> <runs> <nearest | thread | inline>
 */
import { openSqliteEventStore } from './sqlite-event-store.ts';
import { anEvent, aStep } from './steps.fixture.ts';

const [file = '', runs = '', writer] = process.argv.slice(2);
// A test may limit the size of files: the write then fails instead of ending the process.
process.on('SIGXFSZ', () => undefined);
const store = openSqliteEventStore({ file, writer: writer === 'inline' || writer === 'thread' ? writer : 'nearest' });
await print('opened');

/** Waits for a reader that is slow: a synchronous write to a full pipe would fail. */
function print(line: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
}

async function appendWithoutEnd(runId: string): Promise<void> {
  for (let expectedSequence = 0; ; expectedSequence += 1) {
    const notice = { events: [anEvent('NOTICE', { message: 'x'.repeat(500) })] };
    await store.append(aStep(runId, { expectedSequence, ...(expectedSequence === 0 ? {} : notice) }));
    await print(`${runId} ${expectedSequence + 1}`);
  }
}

try {
  await Promise.all(Array.from({ length: Number(runs) }, (_, run) => appendWithoutEnd(`r-${run}`)));
} catch (error) {
  await print(`failed: ${String(error)}`);
}
try {
  await store.setMark('later', '1');
} catch (error) {
  await print(`later: ${String(error)}`);
}
process.exit(1);
