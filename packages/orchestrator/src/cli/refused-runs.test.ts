/** Runs that the server refuses, over the real command line: nothing of their project is left behind. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePlace, type Place, type ServerProcess } from './program.fixture.ts';

let place: Place;
let server: ServerProcess;

beforeEach(async () => {
  place = makePlace();
  server = await place.serve();
});
afterEach(() => place.remove());

const run = (...args: readonly string[]) => place.command(['run', ...args, '--server', server.url], {}, place.clone);

/** Ids of the projects, and names of the mirrors. */
function left() {
  const database = new Database(join(place.data, 'orchestrator.db'), { readonly: true });
  const projects = database.prepare('SELECT id FROM projects').pluck().all();
  database.close();
  const mirrors = join(place.data, 'mirrors');
  const names = existsSync(mirrors) ? readdirSync(mirrors) : [];
  return { projects, mirrors: names.filter((name) => name.endsWith('.git')) };
}

describe('a run that is refused', () => {
  it.each([
    { what: 'a wrong configuration', args: ['Greet', '--config', 'run.json'], says: 'maxFixAttempts' },
    { what: 'an unknown model', args: ['Greet', '--model', 'planner=mystery:x'], says: 'unknown provider "mystery"' },
    { what: 'an unknown base branch', args: ['Greet', '--base', 'nope'], says: "has no branch 'nope'; it has main" },
    { what: 'a wrong input', args: ['--workflow', 'phased-plan', '--input', '{"planPath":1}', 'x'], says: 'planPath' },
  ])('for $what leaves no project and no mirror', async ({ args, says }) => {
    writeFileSync(join(place.clone, 'run.json'), JSON.stringify({ maxFixAttempts: 1_000 }));
    const refused = await run(...args);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain(says);
    expect(left()).toEqual({ projects: [], mirrors: [] });
  });

  it('of a plan leaves no project and no mirror', async () => {
    writeFileSync(join(place.clone, 'plan.md'), '# Plan\n\n## Phase 1: Greet\n\n- [ ] It greets\n');
    const refused = await place.command(
      ['plan', 'run', 'plan.md', '--model', 'phase-implementer=mystery:x', '--server', server.url],
      {},
      place.clone,
    );
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toContain('unknown provider "mystery"');
    expect(refused.stderr).toContain('No run was started, and no project was added.');
    expect(left()).toEqual({ projects: [], mirrors: [] });
  });

  it(
    "for the project's own model leaves none, and its repetition adds one when it is accepted",
    { timeout: 240_000 },
    async () => {
      const config = join(place.clone, '.autonomous', 'config.json');
      mkdirSync(join(place.clone, '.autonomous'), { recursive: true });
      writeFileSync(
        config,
        JSON.stringify({ defaultRunConfig: { modelRouting: { planner: 'anthropic:claude-sonnet-5-5' } } }),
      );
      const commit = (message: string) => {
        place.git('-C', place.clone, 'add', '-A');
        place.git('-C', place.clone, '-c', 'user.name=P', '-c', 'user.email=p@example.org', 'commit', '-qm', message);
        place.git('-C', place.clone, 'push', '-q', 'origin', 'HEAD:main');
      };
      commit('Use a model that the server cannot use');
      const refused = await run('Login', '--detach');
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no usable model for every role') });
      expect(refused.stderr).toContain('No run was started, and no project was added.');
      expect(left()).toEqual({ projects: [], mirrors: [] });

      writeFileSync(config, '{}');
      commit('Use the default');
      const started = await run('Login', '--detach', '--json');
      const { projectId } = JSON.parse(started.stdout) as { projectId: string };
      expect(left()).toEqual({ projects: [projectId], mirrors: [`${projectId}.git`] });
      await run('Once more', '--detach');
      expect(left().projects).toEqual([projectId]);
    },
  );
});
