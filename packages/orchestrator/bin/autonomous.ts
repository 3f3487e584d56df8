#!/usr/bin/env -S node --max-semi-space-size=8
/** The program of the published package: a command, the server where no command is given, or the demo. */
const [command] = process.argv.slice(2);
if (command === 'demo') {
  process.argv.splice(2, 1);
  await import('../demo/main.ts');
} else {
  if (command === undefined) process.argv.push('serve');
  await import('../src/main.ts');
}
