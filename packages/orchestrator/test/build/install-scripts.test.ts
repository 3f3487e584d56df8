/** Evidence counts only for runs with the same install step: its command, whether install scripts run, and its network. */
import { expect, it } from 'vitest';
import { aScript, aServer, projectConfig, writes } from '../fixtures/orchestrator.fixture.ts';

const TRUST = { planning: 'auto', implementation: 'auto' } as const;
/** A stand-in for a package that makes a file by its install script. */
const SETUP = '[ "$AUTONOMOUS_INSTALL_SCRIPTS" != true ] || { mkdir generated && touch generated/ok; }';
const ADDS = writes({ 'feature.sh': 'echo feature\n' });

const configOf = (installScripts: boolean) => ({
  trustMode: TRUST,
  maxFixAttempts: 0,
  commands: { test: 'sh test.sh', setup: SETUP, installScripts },
});

it('compares with a baseline that was made with the same install scripts', async () => {
  const files = { 'test.sh': '[ -e generated/ok ] && ! [ -e feature.sh ]\n' };
  const server = await aServer({ files, script: aScript({ implementer: [ADDS, ADDS] }) });
  const off = await server.rests(await server.launch('Add the feature', configOf(false)));
  expect(off.baseline).toMatchObject({ passed: false });

  const on = await server.rests(await server.launch('Add it again', configOf(true)));
  expect(on.baseline).toMatchObject({ passed: true });
  expect(on.baseline?.isFromEarlierRun).toBeUndefined();
  expect(on.gate?.summary).toMatch(/^The project's checks failed: /);
});

it('reuses no evidence of a run with install scripts, and takes none over into a fork without them', async () => {
  const files = { 'test.sh': '[ -e generated/ok ]\n' };
  const server = await aServer({ files, script: aScript({ implementer: [ADDS, ADDS] }) });
  const on = await server.rests(await server.launch('Add the feature', configOf(true)));
  expect(on.evidence.map(({ passed }) => passed)).toEqual([true, true]);

  const off = await server.rests(await server.launch('Add the feature', configOf(false)));
  expect(off.gate?.kind).toBe('fix');
  expect(off.evidence.map(({ passed, reusedFrom }) => [passed, reusedFrom])).toEqual([[false, undefined]]);

  const events = await server.events(on.id);
  const first = events.findIndex(({ type }) => type === 'EVIDENCE_RECORDED');
  const config = { commands: { installScripts: false } };
  const fault = await server.client.forkRun(on.id, { at: events[first]?.sequence ?? 0, config }).catch(String);
  const step = events.slice(0, first).findLast(({ origin }) => origin === 'input')?.sequence ?? 0;
  expect(fault).toContain('config.commands.installScripts: The checks of run');
  expect(fault).toContain(`Fork at an event before ${step}`);
  // The same setting changes nothing.
  await server.client.forkRun(on.id, { at: events[first]?.sequence ?? 0, config: configOf(true) });

  const fork = await server.rests(await server.client.forkRun(on.id, { at: step - 1, config }));
  expect(fork.evidence.map(({ passed, reusedFrom }) => [passed, reusedFrom])).toEqual([[false, undefined]]);
  expect(fork.gate?.kind).toBe('fix');
  expect(fork.notices.join()).toContain('with other settings (commands.installScripts)');
});

it('stay off where the repository alone asks for them, and the run names all that the repository lets pass', async () => {
  const asked = { trustMode: TRUST, git: { autoMerge: true }, commands: { test: 'sh test.sh', setup: SETUP } };
  const files = {
    'test.sh': '! [ -e generated/ok ]\n',
    '.autonomous/config.json': projectConfig({
      defaultRunConfig: { ...asked, commands: { ...asked.commands, installScripts: true } },
    }),
  };
  const server = await aServer({ files, script: aScript({ implementer: [ADDS, ADDS] }) });
  const run = await server.rests(await server.launch('Add the feature', { trustMode: {} }));
  expect(run.config).toMatchObject({ trustMode: TRUST, git: asked.git });
  expect(run.config.commands).toEqual(asked.commands);
  expect(run.evidence.map(({ passed }) => passed)).toEqual([true, true]);
  expect(run.notices).toEqual([
    expect.stringContaining('asks for install scripts, which only the configuration of the run allows'),
    expect.stringContaining("The project's configuration lets planning and the merge pass without asking."),
  ]);
});
