/** The command `answer`: answers the question of a run. */
import { collect, type CommandLine, type DecidingOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { answerOf } from '../../gates/decide.ts';
import { decidedGate } from '../../gates/decided-gate.ts';
import { EXIT, UsageError } from '../../exit.ts';
import { type CliIo, say } from '../../io.ts';
import { statusLine } from '../../run-texts.ts';

interface AnswerOptions extends DecidingOptions {
  readonly file?: readonly string[];
}

export function addAnswer(line: CommandLine): void {
  line
    .deciding('answer <run> [response...]', 'answers a question: text, or options by number or label')
    .option('--file <path>', 'a file as answer; may be repeated', collect)
    .action(
      line.ending((runId: string, words: string[], options: AnswerOptions) => answer(line.io, runId, words, options)),
    );
}

async function answer(io: CliIo, runId: string, words: readonly string[], options: AnswerOptions): Promise<number> {
  const files = options.file ?? [];
  if (words.length === 0 && files.length === 0)
    throw new UsageError('There is no answer; give it after the run, or --file PATH.');
  const client = await connect(io, options.server);
  const { gate, shown } = await decidedGate(client, io, { runId, decision: 'answer' }, options);
  const decision = await answerOf(client, io, gate.question, { words, files });
  const answered = await client.decideGate(gate.id, { ...decision, ...shown });
  say(io, `answer: ${gate.summary}\n${statusLine(answered, io.program)}`);
  return EXIT.done;
}
