/** Ends the processes that tests have started and left. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Ends every other process that has a text in its environment, or in its command line where a test gave it another environment.
 * Does nothing where there is no `/proc`.
 * @param mark such as the only folder that the tests may write to
 * @returns process ids with the beginnings of their command lines
 */
export function endProcessesWith(mark) {
  const ended = [];
  if (!existsSync('/proc/self/environ')) return ended;
  for (const pid of readdirSync('/proc').filter((name) => Number(name) > 0 && Number(name) !== process.pid)) {
    try {
      const [environment, command] = ['environ', 'cmdline'].map((file) =>
        readFileSync(`/proc/${pid}/${file}`, 'latin1'),
      );
      if (!environment.includes(mark) && !command.includes(mark)) continue;
      ended.push(`${pid} ${command.replaceAll('\0', ' ').slice(0, 200)}`);
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended meanwhile, or is another user's.
    }
  }
  return ended;
}
