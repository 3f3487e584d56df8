/** Lets SQLite look through a database for damage, beside everything else. Its messages: `null` once it has opened the database, then what it found first. */
import { parentPort, workerData } from 'node:worker_threads';
import { connectReadOnly } from '../sqlite-connection.ts';

const { file } = workerData as { readonly file: string };
const connection = connectReadOnly(file);
parentPort?.postMessage(null);
try {
  parentPort?.postMessage(String(connection.pragma('quick_check(1)', { simple: true })));
} catch (error) {
  parentPort?.postMessage(error instanceof Error ? error.message : String(error));
} finally {
  connection.close();
}
