/** The command `keys`: keys of providers, given to the server or, where none runs, kept for its next start. */
import type { CommandLine } from '../command-line.ts';
import type { KeysOptions } from '../keys.ts';

export function addKeys(line: CommandLine): void {
  line
    .client('keys [action] [provider]', 'keys of model providers: list, set, test or remove')
    .option('--base-url <url>', 'address of the server, for openai-compatible')
    .option('--memory', 'set: forget the key when the server stops')
    .option('--no-check', 'set: keep the key without a test')
    .option('--json', 'list: one JSON object')
    .addHelpText(
      'after',
      '\nset reads the key from the terminal without showing it, or from a pipe. It is\nnever an argument: other users of the machine could read those.',
    )
    .action(
      line.ending(async (action: string | undefined, provider: string | undefined, options: KeysOptions) =>
        (await import('../keys.ts')).keys({ action: action ?? 'list', provider, options }, line.io),
      ),
    );
}
