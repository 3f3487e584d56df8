/** `npm run bench -- NAME [OPTION ...]`: measures one thing and prints a table and, as its last line, JSON. */
import { runBench } from './bench.ts';

process.exitCode = await runBench(process.argv.slice(2), import.meta.dirname, console.log, console.error);
