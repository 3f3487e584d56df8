/**
 * Checks that a restored older copy of a database loses nothing of the record in git. Real git and real files.
 */
import { copyFileSync, cpSync, existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../src/engine/clock.ts';
import { Engine } from '../src/engine/engine.ts';
import { divergence, listRecordedRuns, readRecordedTips } from '../src/record/record-check.ts';
import { RunRecordWriter } from '../src/record/run-record-writer.ts';
import { Transcripts } from '../src/engine/transcripts.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStep } from '../src/event-store/sqlite/steps.fixture.ts';
import { type Fixture, git, openFixture } from '../src/repository/git-fixture.fixture.ts';
import { createRegistry } from '../src/core/registry.ts';

const RUN = 'r-1';
const log = pino({ enabled: false });

/** A database from before its newest events goes another way, further than the record: the record stays. */
export async function keepsLongerRecords(folder: string): Promise<boolean> {
  const place = await Place.open(folder);
  await place.step(0, '2026-03-01T12:00:00.000Z');
  await place.restoreLater('database');
  await place.step(2, '2026-03-01T12:05:00.000Z');
  await place.record();
  const recorded = place.recorded();
  await place.restore('database');
  await place.step(2, '2026-03-01T13:00:00.000Z');
  await place.step(4, '2026-03-01T13:05:00.000Z');
  await place.record();
  return place.closeWith(place.recorded() === recorded);
}

/** The mirrors are as old as the database, so that only the remote knows more. */
export async function keepsWhatOnlyTheRemoteHas(folder: string): Promise<boolean> {
  const place = await Place.open(folder);
  await place.step(0, '2026-03-01T12:00:00.000Z');
  await place.record();
  await place.restoreLater('all');
  await place.step(2, '2026-03-01T12:05:00.000Z');
  await place.record();
  const recorded = place.recorded();
  await place.restore('all');
  await place.step(2, '2026-03-01T13:00:00.000Z');
  await place.record();
  return place.closeWith(place.recorded() === recorded);
}

/** A run that was quarantined since git knows more of it is not retried. */
export async function refusesToRetryWhatGitKnowsFurther(folder: string): Promise<boolean> {
  const place = await Place.open(folder);
  await place.step(0, '2026-03-01T12:00:00.000Z');
  await place.restoreLater('database');
  await place.step(2, '2026-03-01T12:05:00.000Z');
  await place.record();
  await place.restore('database');
  const engine = new Engine({
    store: place.store,
    workflows: createRegistry([]),
    findActivity: () => undefined,
    clock: systemClock,
    log,
    random: () => 0.5,
    maxConcurrentRunsPerUser: 1,
    scrub: (value) => value,
    faultElsewhere: () => place.fault(),
  });
  await engine.start();
  await engine.quarantine(RUN, 'git knows more of it');
  const refusal = await engine.signal(RUN, 'RETRY_REQUESTED', { by: 'somebody' }).then(
    () => '',
    (error: unknown) => String(error),
  );
  await engine.stop();
  return place.closeWith(refusal.includes('in the record in git and not in the database'));
}

/** A database file that is removed under the store takes no more steps. */
export async function refusesALostFile(folder: string): Promise<boolean> {
  const file = path.join(folder, 'lost.db');
  const store = openSqliteEventStore({ file, writer: 'inline' });
  await store.append(aStep(RUN, { events: [anEvent('NOTICE')] }));
  rmSync(file);
  const isRefused = await store.append(aStep(RUN, { expectedSequence: 1, events: [anEvent('NOTICE')] })).then(
    () => false,
    () => true,
  );
  await store.close();
  return isRefused;
}

class Place {
  readonly #folder: string;
  #fixture: Fixture;
  store: SqliteEventStore;

  static async open(folder: string): Promise<Place> {
    const place = new Place(folder, await openFixture(folder));
    await place.store.saveProject({ ...place.#fixture.project, name: 'shop', createdAt: '2026-03-01T12:00:00.000Z' });
    return place;
  }

  private constructor(folder: string, fixture: Fixture) {
    this.#folder = folder;
    this.#fixture = fixture;
    this.store = this.#openStore();
  }

  /** Two events of the run, which waits. */
  async step(after: number, timestamp: string): Promise<void> {
    await this.store.append(
      aStep(RUN, {
        expectedSequence: after,
        events: [anEvent('RUN_STARTED', {}, timestamp), anEvent('APPROVAL_REQUESTED', {}, timestamp)],
        view: { projectId: this.#fixture.project.id, status: 'awaiting_approval' },
      }),
    );
  }

  async record(): Promise<void> {
    const { repository } = this.#fixture;
    const transcripts = new Transcripts(path.join(this.#folder, 'transcripts'));
    await this.store.setMark('recorded-position', '0');
    const scrub = (text: string): string => text;
    const recorder = new RunRecordWriter({
      store: this.store,
      repository,
      transcripts,
      clock: systemClock,
      log,
      scrub,
      serverId: 's-1',
    });
    await recorder.start();
    await recorder.settled();
    await recorder.stop();
  }

  /** The run's `context.json` in the remote's record. */
  recorded(): string {
    return git(this.#fixture.remote, 'show', `autonomous/record:.autonomous/runs/${RUN}/context.json`);
  }

  async fault() {
    const { repository, project } = this.#fixture;
    const commit = (await repository.fetchRecord(project)) ?? '';
    const runIds = await listRecordedRuns(repository, project, commit);
    const tip = (await readRecordedTips(repository, project, commit, runIds)).tips.get(RUN);
    return tip === undefined ? null : divergence(this.store, RUN, tip);
  }

  async restoreLater(what: 'database' | 'all'): Promise<void> {
    await this.store.close();
    copyFileSync(this.#file, `${this.#file}.old`);
    if (what === 'all') cpSync(this.#mirrors, `${this.#mirrors}.old`, { recursive: true });
    this.store = this.#openStore();
  }

  async restore(what: 'database' | 'all'): Promise<void> {
    await this.store.close();
    copyFileSync(`${this.#file}.old`, this.#file);
    for (const ending of ['-wal', '-shm']) rmSync(`${this.#file}${ending}`, { force: true });
    if (what === 'all' && existsSync(`${this.#mirrors}.old`)) {
      rmSync(this.#mirrors, { recursive: true });
      cpSync(`${this.#mirrors}.old`, this.#mirrors, { recursive: true });
      this.#fixture = { ...this.#fixture, repository: this.#fixture.reopen() };
    }
    this.store = this.#openStore();
  }

  async closeWith<Answer>(answer: Answer): Promise<Answer> {
    await this.store.close();
    return answer;
  }

  get #file(): string {
    return path.join(this.#folder, 'runs.db');
  }

  get #mirrors(): string {
    return path.join(this.#folder, 'mirrors');
  }

  #openStore(): SqliteEventStore {
    return openSqliteEventStore({ file: this.#file, writer: 'inline' });
  }
}
