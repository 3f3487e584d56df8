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

  it('is npx for the package that npx started', () => {
    const file = '/home/me/.npm/_npx/1/node_modules/.bin/autonomous-orchestrator';
    expect(startCommand({ env: { npm_command: 'exec' }, file, isCheckout: false })).toEqual({
      program: 'npx autonomous-orchestrator',
      serve: 'npx autonomous-orchestrator',
      demo: 'npx autonomous-orchestrator demo',
    });
  });

  it.each([
    ['/home/me/package/bin/autonomous.js', 'node /home/me/package/bin/autonomous.js'],
    ['/home/my name/bin/autonomous.js', "node '/home/my name/bin/autonomous.js'"],
  ])('names the file %s that Node was started with', (file, program) => {
    expect(startCommand({ env: {}, file, isCheckout: false })).toEqual({
      program,
      serve: `${program} serve`,
      demo: `${program} demo`,
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
