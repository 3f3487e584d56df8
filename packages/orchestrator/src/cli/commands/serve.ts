/** The command `serve`: starts the server. */
import type { CommandLine } from '../command-line.ts';

export function addServe(line: CommandLine): void {
  line
    .command('serve', 'starts the server')
    .option('--port <port>', 'where it listens; 0 chooses a free one (ORCHESTRATOR_PORT)')
    .option('--host <address>', 'address it listens on (ORCHESTRATOR_HOST)')
    .option('--data <folder>', 'folder of everything it keeps (AUTONOMOUS_DATA)')
    .option('--record <folder>', 'keeps a cassette of every run there (AUTONOMOUS_RECORD)')
    // Loaded when needed: a client needs none of the server's libraries.
    .action(line.ending(async (options: object) => (await import('../serve.ts')).serve(options, line.io)));
}
