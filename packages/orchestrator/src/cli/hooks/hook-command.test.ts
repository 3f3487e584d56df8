import { describe, expect, it } from 'vitest';
import { hookCommand, isHookCommand } from './hook-command.ts';

const published = (program: string) => ({ program, checkout: null, node: '/usr/bin/node' });

describe('the command of the hook', () => {
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
  ])('starts %s, and is known again', (_, program, command) => {
    expect(hookCommand(program, null)).toBe(command);
    expect(hookCommand(program, 5)).toBe(`${command} --max-blocks 5`);
    expect(isHookCommand(command)).toBe(true);
    expect(isHookCommand(`${command} --max-blocks 5`)).toBe(true);
  });

  it.each([
    'npm test',
    'node .claude/scripts/hooks/autonomous-check.mjs',
    'my-autonomous hook stop',
    'autonomous hook stop && say done',
    'autonomous roadmap next',
  ])('is not %s', (command) => {
    expect(isHookCommand(command)).toBe(false);
  });
});
