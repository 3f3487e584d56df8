/** A browser that looks at what the bench `feed` measures, in a process of its own: `face-process.ts TASK`. */
import { endWithParent, report } from '../../packages/orchestrator/bench/contest/child.ts';
import type { FaceReport, FaceTask } from '../../packages/orchestrator/bench/feed/tasks.ts';
import { findChromium, installCodeServer, installTools } from '../harness/install.ts';

endWithParent();
const task = JSON.parse(process.argv[2] ?? '') as FaceTask; // The bench wrote it.
await report(await carryOut(task));
process.exit();

async function carryOut(task: FaceTask): Promise<FaceReport> {
  const chromium = findChromium();
  if (task.task === 'look') return { report: 'looked', hasChromium: chromium !== undefined };
  if (chromium === undefined) throw new Error('There is no Chromium.');
  installTools();
  // Now that what they import is there.
  switch (task.task) {
    case 'screen': {
      const { watchScreen } = await import('./screen.ts');
      return watchScreen(chromium, task);
    }
    case 'list': {
      const { openList } = await import('./list.ts');
      return openList(chromium, task);
    }
    case 'activation': {
      installCodeServer();
      const { openEditors } = await import('./activation.ts');
      return openEditors(chromium, task, () => void report({ report: 'working' } satisfies FaceReport));
    }
    default:
      return task satisfies never;
  }
}
