/** A measuring process with a child of its own, which ends as it is told. */
import { spawn } from 'node:child_process';
import { report } from './child.ts';

const { ending } = JSON.parse(process.argv[2] ?? '') as { readonly ending: 'end' | 'fail' | 'wait' };
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' });
await report({ pids: [process.pid, child.pid] });
if (ending !== 'wait') child.kill();
if (ending === 'fail') {
  console.error('this is why');
  process.exit(3);
}
if (ending === 'end') process.exit();
