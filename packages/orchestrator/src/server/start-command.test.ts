import { describe, expect, it } from 'vitest';
import { startCommand } from './start-command.ts';

describe('the start command', () => {
  it("is the package script's in a checkout", () => {
    expect(startCommand({ env: { AUTONOMOUS_CWD: '/home/me' }, file: '/a/src/main.ts', isCheckout: true })).toEqual({
      program: 'npm run autonomous --',
      serve: 'npm start',
      demo: 'npm run demo',
    });
  });

  it.each([
    ['by npx', { npm_command: 'exec' }, '/home/me/.npm/_npx/1/node_modules/.bin/autonomous-orchestrator'],
    ['by its path', {}, '/home/me/package/bin/autonomous.js'],
  ])('names npx for the published package started %s', (_, env, file) => {
    expect(startCommand({ env, file, isCheckout: false })).toEqual({
      program: 'npx autonomous-orchestrator',
      serve: 'npx autonomous-orchestrator',
      demo: 'npx autonomous-orchestrator demo',
    });
  });

  it('is the name of the installed command', () => {
    expect(startCommand({ env: {}, file: '/usr/local/bin/autonomous', isCheckout: false })).toEqual({
      program: 'autonomous',
      serve: 'autonomous serve',
      demo: 'autonomous demo',
    });
  });
});
