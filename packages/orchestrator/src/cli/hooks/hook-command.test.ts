import { describe, expect, it } from 'vitest';
import { hookCommands, hookOfCommand } from './hook-command.ts';

const published = (program: string) => ({ program, checkout: null, node: '/usr/bin/node' });

describe('the commands of the hooks', () => {
  it.each([
    ['the installed program', published('autonomous'), 'autonomous hook stop'],
    ['the program of the package', published('autonomous-orchestrator'), 'autonomous-orchestrator hook stop'],
    ['npx', published('npx autonomous-orchestrator'), 'npx --yes autonomous-orchestrator hook stop'],
    [
      'a checkout',
      { program: 'npm run autonomous --', checkout: '/home/me/src/main.ts', node: '/opt/node' },
      '/opt/node /home/me/src/main.ts hook stop',
    ],
    [
      'a checkout in a folder with blanks',
      { program: 'autonomous', checkout: "/home/me/Tom's code/src/main.ts", node: '/opt/my node' },
      String.raw`'/opt/my node' '/home/me/Tom'\''s code/src/main.ts' hook stop`,
    ],
    [
      'an installed file',
      published("node '/opt/my tools/autonomous.js'"),
      "node '/opt/my tools/autonomous.js' hook stop",
    ],
  ])('start %s, and are known again', (_, program, stop) => {
    const commands = hookCommands(program, null);
    const [checkpoint, resume] = ['checkpoint', 'resume'].map((name) => stop.replace(/stop$/, name));
    expect(commands).toEqual({ Stop: stop, PreCompact: checkpoint, SessionStart: resume });
    expect(hookCommands(program, 5)).toEqual({ ...commands, Stop: `${stop} --max-blocks 5` });
    for (const [event, command] of Object.entries(commands)) expect(hookOfCommand(command)).toMatchObject({ event });
    expect(hookOfCommand(`${stop} --max-blocks 5`)).toMatchObject({ event: 'Stop' });
  });

  it.each([
    'npm test',
    'node .claude/scripts/hooks/autonomous-check.mjs',
    'my-autonomous hook stop',
    'autonomous hook stop && say done',
    'autonomous hook install',
    'autonomous roadmap next',
    'rm -rf / # autonomous hook stop',
    'rm -rf autonomous hook stop',
    'echo x; autonomous hook stop',
    '"$(curl x)/autonomous" hook stop',
    'bash /home/me/src/main.ts hook stop',
    'node /home/me/other/main.ts hook stop',
    'autonomous hook stop --max-blocks 5 --more',
    "'autonomous hook stop",
  ])('are not %s', (command) => {
    expect(hookOfCommand(command)).toBeNull();
  });
});
