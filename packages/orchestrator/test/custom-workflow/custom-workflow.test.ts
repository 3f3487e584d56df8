/** The example of docs/write-your-own-workflow.md on a server process of its own, which is killed and started again. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { ApiError, type Client, createClient } from '@autonomous/shared/client';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

const execute = promisify(execFile);
// Each command and each start of a server is a process of its own.
const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ROOT = path.join(import.meta.dirname, '..', '..', '..', '..');
const EXAMPLE = path.join(ROOT, 'examples', 'own-workflow', 'workflow.ts');
const GUIDE = path.join(ROOT, 'docs', 'write-your-own-workflow.md');
const LOADER = new URL('../../src/custom-workflows.ts', import.meta.url).href;

class Place {
  readonly folder: string;
  readonly invoices: string;
  server!: ServerProcess;
  client!: Client;

  static async make(): Promise<Place> {
    const place = new Place(await mkdtemp(path.join(tmpdir(), 'own-workflow-')));
    onTestFinished(async () => {
      await place.server.end('SIGKILL');
      await rm(place.folder, { recursive: true, force: true });
    });
    await place.start('0');
    return place;
  }

  private constructor(folder: string) {
    this.folder = folder;
    this.invoices = path.join(folder, 'invoices');
  }

  async start(port = new URL(this.server.url).port): Promise<void> {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.folder,
      LOG_LEVEL: 'warn',
      AUTONOMOUS_WORKFLOWS: EXAMPLE,
      INVOICE_FOLDER: this.invoices,
    };
    this.server = await startServerProcess({ dataFolder: path.join(this.folder, 'data'), port, env });
    this.client = createClient({ baseUrl: this.server.url, token: this.server.token });
  }

  async killAndRestart(): Promise<void> {
    await this.server.end('SIGKILL');
    await this.start();
  }

  /** Resolves with the run's view once its events, from the first, are so. */
  async until(runId: string, condition: (events: readonly WorkflowEvent[]) => boolean): Promise<RunView> {
    const stop = new AbortController();
    const events: WorkflowEvent[] = [];
    const onEvent = (event: WorkflowEvent): void => {
      events.push(event);
      if (condition(events)) stop.abort();
    };
    await this.client.followFeed({ runIds: [runId], signal: stop.signal, onEvent });
    return this.client.getRun(runId);
  }

  untilGate(runId: string, count: number): Promise<RunView> {
    const opens = new Set(['APPROVAL_REQUESTED', 'CLARIFICATION_REQUESTED', 'RUN_PAUSED']);
    return this.until(runId, (events) => events.filter(({ type }) => opens.has(type)).length === count);
  }

  /** Carries out a command as a person types it. */
  async command(...args: readonly string[]): Promise<string> {
    const env = { PATH: process.env['PATH'] ?? '', HOME: this.folder, AUTONOMOUS_DATA: path.join(this.folder, 'data') };
    const { stdout } = await execute(process.execPath, [PROGRAM, ...args, '--server', this.server.url], {
      env,
      cwd: this.folder,
    });
    return stdout;
  }

  files(ending: string): Promise<string[]> {
    return readdir(this.invoices).then(
      (names) => names.filter((name) => name.endsWith(ending)),
      () => [],
    );
  }
}

const refusal = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => Promise.reject(new Error('it was taken')),
    (error: unknown) => (error instanceof ApiError ? error : Promise.reject(error)),
  );

describe('a workflow of one’s own', () => {
  it('runs from its input over a question, a gate and a timer to its end, across crashes, and does nothing twice', async () => {
    const place = await Place.make();
    const { client } = place;
    expect(await client.getWorkflow('invoice')).toMatchObject({
      needsProject: false,
      versions: [1],
      input: { required: ['customer', 'cents'], properties: { cents: { type: 'integer' } } },
      activities: [
        { id: 'write', source: 'writeInvoice' },
        { id: 'remind', source: 'remindCustomer' },
      ],
    });

    const started = JSON.parse(
      await place.command(
        'run',
        '--workflow',
        'invoice',
        '--detach',
        '--json',
        '--input',
        '{"customer":"Ada","cents":4200,"remindAfterMs":500}',
      ),
    ) as RunView;
    expect(await place.command('--help')).toMatch(/^Start work, by workflows .*:\n {2}invoice /m);
    await expect(place.command('invoce')).rejects.toThrow('Did you mean invoice?');
    const asked = await place.untilGate(started.id, 1);
    expect(asked).toMatchObject({
      projectId: '',
      branch: '',
      status: 'awaiting_clarification',
      gate: { kind: 'clarification' },
    });
    expect((await client.listGates()).map(({ summary }) => summary)).toEqual(['Where does Ada live?']);
    await place.command('answer', started.id, '12', 'Byron', 'Street');
    const shown = await place.untilGate(started.id, 2);

    await place.killAndRestart();
    expect((await place.client.getRun(started.id)).gate).toEqual(shown.gate);
    expect((await refusal(place.client.sendSignal(started.id, { type: 'PAYMENT_RECEIVED', cents: 1 }))).status).toBe(
      409,
    );
    await place.client.decideOpenGate(started.id, { decision: 'reject', feedback: 'Thank you for your order' });
    await place.untilGate(started.id, 3);
    expect(await place.files('.txt')).toHaveLength(2);
    const options = /^decide +(.*)$/m.exec(await place.command('show', started.id))?.[1] ?? '';
    expect(await place.command('approve', started.id, ...options.split(' '))).toContain('approve');

    const isReminder = ({ type, payload }: WorkflowEvent) =>
      type === 'ACTIVITY_COMPLETED' && payload['activity'] === 'remind';
    // The server dies with the timer armed or the reminder under way, whichever it is just then.
    await place.killAndRestart();
    await place.until(started.id, (events) => events.some(isReminder));
    expect(
      (await refusal(place.client.sendSignal(started.id, { type: 'PAYMENT_RECEIVED', cents: 'all' }))).status,
    ).toBe(400);
    // Too little is not taken; the guard says so.
    expect((await refusal(place.client.sendSignal(started.id, { type: 'PAYMENT_RECEIVED', cents: 1 }))).status).toBe(
      409,
    );
    await place.command('signal', started.id, 'PAYMENT_RECEIVED', '{"cents": 4200}');
    const done = await place.until(started.id, (events) => events.some(({ type }) => type === 'RUN_COMPLETED'));
    expect(done.status).toBe('completed');

    const events = await place.client.listEvents(started.id, 0, 1_000);
    const files = events.filter(({ type }) => type === 'INVOICE_WRITTEN').map(({ payload }) => String(payload['file']));
    expect(files.toSorted()).toEqual(
      (await place.files('.txt')).map((name) => path.join(place.invoices, name)).toSorted(),
    );
    expect(await readFile(files[1] ?? '', 'utf8')).toMatch(
      /^Invoice for Ada\n12 Byron Street\n42\.00 EUR\nThank you for your order\n/,
    );
    const reminders = events.filter(isReminder).length;
    const sent = (await place.files('.sent')).length;
    // One more may have been on its way when the money came.
    expect([reminders, reminders + 1]).toContain(sent);
    expect(events.filter(({ type }) => type === 'RUN_PAUSED')).toEqual([]);

    expect(await place.command('history', started.id)).toMatch(
      /^ *1 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}RUN_STARTED +run /,
    );
    expect(await place.command('show', started.id, '--at', String(shown.lastSequence))).toMatch(
      /^status +.*approval/im,
    );
    expect(await place.command('show', started.id, '--statechart')).toMatch(/class s_invoice_paid current/);
    const fork = JSON.parse(
      await place.command(
        'fork',
        started.id,
        '--at',
        String(shown.lastSequence),
        '--answer',
        'reject=Shorter',
        '--detach',
        '--json',
      ),
    ) as RunView;
    expect(fork).toMatchObject({ forkedFrom: { runId: started.id }, gates: [{}, { notes: 'Shorter' }] });
    await place.untilGate(fork.id, 3);
    await place.command('cancel', fork.id);
    expect(await place.files('.txt')).toHaveLength(3);
  });

  it('takes its input as its schema says, and nothing that it has not asked for', async () => {
    const { client } = await Place.make();
    const faultsOf = async (run: Parameters<Client['launchRun']>[0]) => {
      const { status, problem } = await refusal(client.launchRun(run));
      const faults = problem.faults ?? [];
      return [status, faults.map(({ path: at }) => at).toSorted()];
    };
    expect(await faultsOf({ workflow: 'invoice' })).toEqual([400, ['input.cents', 'input.customer']]);
    expect(await faultsOf({ workflow: 'invoice', input: { customer: '', cents: 1.5 } })).toEqual([
      400,
      ['input.cents', 'input.customer'],
    ]);
    const { problem } = await refusal(
      client.launchRun({ workflow: 'invoice', input: { customer: 5, approvedBy: 'me', paid: 1 } }),
    );
    expect(problem.faults).toEqual([
      { path: 'input.customer', message: 'Invalid input: expected string, received number' },
      { path: 'input.cents', message: 'Is missing: a value of the type number is needed' },
      {
        path: 'input.approvedBy',
        message:
          "The input of workflow 'invoice' has no field 'approvedBy'; it has customer, cents, address, remindAfterMs.",
      },
      { path: 'input.paid', message: expect.stringContaining("has no field 'paid'") as string },
    ]);
    expect(await faultsOf({ workflow: 'build', input: {} })).toEqual([400, ['input', 'projectId', 'request']]);
    expect(await faultsOf({})).toEqual([400, ['projectId', 'request']]);
    expect(await faultsOf({ workflow: 'nothing' })).toEqual([400, ['workflow']]);
    expect((await client.listRuns()).items).toEqual([]);
  });
});

/** Its stage, the type of its artifact and the role that it calls are computed while it runs. */
const COMPUTED = `
  import { activity, callAgent, defineWorkflow, ONE_TRY } from '@autonomous/orchestrator/workflow';
  import { assign, emit, setup } from 'xstate';
  import { z } from 'zod';
  const machine = setup({ actors: { work: activity() } }).createMachine({
    context: ({ input }) => ({ what: input.input.what, fault: '' }),
    on: { RUN_CANCELLED: '.cancelled' },
    initial: 'drawing',
    states: {
      drawing: {
        meta: { status: 'running', stage: ({ what }) => (what === 'stage' ? 'sketching' : 'drawing') },
        invoke: {
          id: 'work',
          src: 'work',
          input: ({ context }) => context.what,
          onDone: {
            target: 'drawn',
            actions: emit(({ context: { what } }) => ({
              type: 'ARTIFACT_CREATED',
              artifact: { type: what === 'document' ? 'sketch' : 'drawing', hash: 'h', stage: 'drawing', version: 1 },
            })),
          },
          onError: { target: 'failed', actions: assign({ fault: ({ event }) => event.error.message }) },
        },
      },
      drawn: { type: 'final', meta: { status: 'completed' } },
      failed: { type: 'final', meta: { status: 'failed', message: ({ fault }) => fault } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  });
  const work = (tools) => ({
    retry: ONE_TRY,
    async perform(what, context) {
      if (what === 'role') await callAgent(tools, context, { role: { name: 'poet' } });
      return null;
    },
  });
  export default {
    definition: defineWorkflow({
      name: 'computed', version: 1, description: '', machine,
      input: z.object({ what: z.string() }), signals: { RUN_CANCELLED: z.object({ by: z.string() }) },
    }),
    stages: [{ name: 'drawing', title: 'Drawing' }],
    documents: { drawing: { title: 'Drawing', drawnAs: 'markdown' } },
    activities: (tools) => ({ work: work(tools) }),
  };
`;

it('stops a run that names what its workflow does not declare, before anything of that step is stored', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'computed-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(path.join(folder, 'computed.ts'), COMPUTED);
  const server = await startServerProcess({
    dataFolder: path.join(folder, 'data'),
    port: '0',
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      LOG_LEVEL: 'silent',
      AUTONOMOUS_WORKFLOWS: path.join(folder, 'computed.ts'),
    },
  });
  onTestFinished(async () => void (await server.end('SIGKILL')));
  const client = createClient({ baseUrl: server.url, token: server.token });
  const launch = (what: string): Promise<RunView> => client.launchRun({ workflow: 'computed', input: { what } });
  const rests = async (what: string): Promise<RunView> => {
    const { id } = await launch(what);
    await expect.poll(async () => (await client.getRun(id)).status).not.toBe('running');
    return client.getRun(id);
  };

  expect(await rests('nothing')).toMatchObject({ status: 'completed', artifacts: [{ type: 'drawing' }] });
  const { status, problem } = await refusal(launch('stage'));
  expect([status, problem.detail]).toEqual([
    422,
    expect.stringContaining("has states of the stage 'sketching', which 'stages' does not declare; add it"),
  ]);
  const document = await rests('document');
  expect(document).toMatchObject({ status: 'paused', artifacts: [], gate: { reason: 'poisoned' } });
  expect(document.gate?.summary).toContain(
    "workflow 'computed' creates artifacts of the type 'sketch', which 'documents' does not declare; add it, or use one of drawing",
  );
  expect(await rests('role')).toMatchObject({
    status: 'failed',
    failure: "workflow 'computed' calls the role 'poet', which 'roles' does not declare; add it.",
  });
  expect((await client.listRuns()).items).toHaveLength(3);
});

describe('a server that is given workflows', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'own-workflows-'));
    return () => rm(folder, { recursive: true, force: true });
  });

  const HEAD = `
    import { activity, defineWorkflow } from '@autonomous/orchestrator/engine';
    import { createMachine, setup, fromCallback } from 'xstate';
    import { z } from 'zod';
    const signals = { RUN_CANCELLED: z.object({ by: z.string() }) };
    const states = { on: { RUN_CANCELLED: '.ended' }, initial: 'a', states: { a: { invoke: { id: 'w', src: 'work' } }, ended: { type: 'final', meta: { status: 'cancelled' } } } };
    const machine = setup({ actors: { work: activity() } }).createMachine(states);
    const define = (change = {}) => defineWorkflow({ name: 'own', version: 1, description: '', machine, signals, ...change });
    const work = { retry: { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 }, perform: async () => null };
  `;
  const GOOD = `${HEAD} export default { definition: define(), activities: { work } };`;

  /** Loads files as a server of this folder would. @returns names and versions, or the refusal */
  async function load(files: Readonly<Record<string, string>>, ...names: readonly string[]): Promise<string> {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    }
    const given = names.length > 0 ? names : Object.keys(files).map((name) => `./${name}`);
    const program = `
      const { activitiesOf, loadCustomWorkflows } = await import(${JSON.stringify(LOADER)});
      const builtIn = [{ name: 'build', children: [{ name: 'build-part' }] }];
      await loadCustomWorkflows({ names: ${JSON.stringify(given)}, folder: ${JSON.stringify(folder)}, dataFolder: ${JSON.stringify(path.join(folder, 'data'))}, builtIn })
        .then((own) => own.flatMap(({ versions }) => versions.map(({ name, version }) => name + ' ' + version)).concat([...activitiesOf(own, {}).values()].flatMap((each) => Object.keys(each))).join(', '))
        .catch((error) => error.name + ': ' + error.message)
        .then((said) => console.log(said));
    `;
    const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', program], { cwd: tmpdir() });
    return stdout.trim();
  }

  it('loads files and packages, with the server’s own engine and libraries', async () => {
    await load({});
    const files = {
      'one.ts': `${GOOD.replace('const machine', 'const machine: unknown')}`,
      'node_modules/two/package.json': '{"name":"two","type":"module","exports":{"import":"./index.js"}}',
      'node_modules/two/index.js': `${HEAD} const more = { ...work }; const other = setup({ actors: { more: activity() } }).createMachine({ ...states, states: { ...states.states, a: { invoke: { id: 'm', src: 'more' } } } });
        export const workflows = [1, 2].map((version) => ({ definition: define({ name: 'two', version, machine: other }), activities: { more } }));`,
      'three.ts': `${HEAD} import { defineVersions } from '@autonomous/orchestrator/workflow';
        export default { versions: defineVersions({ name: 'three', newest: 3, oldest: 2, description: '', machine: () => machine, signals }), activities: { work } };`,
    };
    expect(await load(files, './one.ts', 'two', './three.ts')).toBe(
      'own 1, two 1, two 2, three 2, three 3, work, more, work',
    );
  });

  it('loads the machine of the documentation', async () => {
    const text = await readFile(GUIDE, 'utf8');
    const [, code = ''] = /## 1\. Write it[^]*?```ts\n([^]*?)```/.exec(text) ?? [];
    expect(await load({ 'docs/greeting.ts': code })).toBe('greeting 1, write');
  });

  it('can be tested as the documentation says, with nothing but the machine', async () => {
    const machine = `${path.dirname(EXAMPLE)}/machine.ts`;
    const program = `
      const { loadCustomWorkflows } = await import(${JSON.stringify(LOADER)});
      await loadCustomWorkflows({ names: [${JSON.stringify(EXAMPLE)}], folder: '/', dataFolder: '/nowhere', builtIn: [] });
      const { invoice } = await import(${JSON.stringify(pathToFileURL(machine).href)});
      const { initialTransition, transition } = await import(${JSON.stringify(import.meta.resolve('xstate'))});
      const [writing] = initialTransition(invoice.machine, { input: { customer: 'Ada', cents: 4200, address: 'Here', remindAfterMs: 1 } });
      const [shown] = transition(invoice.machine, writing, { type: 'xstate.done.actor.write', output: { file: 'a.txt' } });
      console.log(writing.value, shown.value);
    `;
    const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', program]);
    expect(stdout.trim()).toBe('writing approving');
  });

  it.each<[string, string, RegExp]>([
    ['there is no file', '', /^InvalidRequest: .*\n {2}\.\/x\.ts cannot be loaded: there is no file .*x\.ts\./],
    ['it cannot be read', 'export default {', /x\.ts cannot be loaded: /],
    ['it fails', 'throw new Error("no licence")', /x\.ts cannot be loaded: no licence\./],
    ['it exports something else', 'export const machine = 1;', /x\.ts exports machine; export a workflow as default/],
    [
      'its definition is made elsewhere',
      'export default { definition: { name: "a" }, activities: {} };',
      /x\.ts has no definition that defineWorkflow made/,
    ],
    ['it has no activities', `${HEAD} export default { definition: define() };`, /workflow 'own' has no activities/],
    [
      'an activity is missing',
      `${HEAD} export default { definition: define(), activities: {} };`,
      /declares the activity 'work', which 'activities' does not carry out/,
    ],
    [
      'an activity does nothing',
      `${HEAD} export default { definition: define(), activities: { work: {} } };`,
      /the activity 'work' has no function perform/,
    ],
    [
      'an activity has no policy',
      `${HEAD} export default { definition: define(), activities: { work: { perform() {} } } };`,
      /the activity 'work' has no retry policy/,
    ],
    [
      'a gate kind is not declared',
      `${HEAD} const gated = setup({ actors: { work: activity() } }).createMachine({ ...states, states: { ...states.states, a: { invoke: { id: 'w', src: 'work' }, meta: { status: 'awaiting_approval', gate: { kind: 'sketch', decisions: [], summary: () => '' } } } } });
        export default { definition: define({ machine: gated }), gates: {}, activities: { work } };`,
      /workflow 'own' opens gates of the kind 'sketch', which 'gates' does not declare; add it/,
    ],
    [
      'a gate presents a document that is not declared',
      `${HEAD} export default { definition: define(), gates: { sketch: { title: 'Sketch', presents: 'document', document: 'drawing' } }, activities: { work } };`,
      /gate 'sketch' presents the document 'drawing', which 'documents' does not declare; add it/,
    ],
    [
      'a role is incomplete',
      `${HEAD} export default { definition: define(), roles: [{ role: { name: 'Poet', tools: ['fly'] }, title: '' }], activities: { work } };`,
      /role 'Poet' has an invalid name.*\n.*role 'Poet' has no title/,
    ],
    [
      'the text of an event cannot be filled in',
      `${HEAD} export default { definition: define(), events: { WRITTEN: { text: 'Written [to {file}' }, READ: {}, SENT: { text: 'Sent', tone: 'loud' } }, activities: { work } };`,
      /text of event 'WRITTEN', 'Written \[to \{file\}', has a bracket without.*\n.*event 'READ' has no text.*\n.*event 'SENT' has the tone 'loud', which is not one of plain, good/,
    ],
    [
      'its activities fail',
      `${HEAD} export default { definition: define(), activities: () => { throw new Error('no licence'); } };`,
      /activities\(tools\) failed: no licence/,
    ],
    [
      'its versions have different names',
      `${HEAD} export default { versions: [define(), define({ name: 'other', version: 2 })], activities: { work } };`,
      /workflow 'own' has a version that is called 'other'/,
    ],
    [
      'it has the name of a built-in one',
      `${HEAD} export default { definition: define({ name: 'build' }), activities: { work } };`,
      /the workflow 'build' is built in; choose another name/,
    ],
    [
      'it has the name of a child of a built-in one',
      `${HEAD} export default { definition: define({ name: 'build-part' }), activities: { work } };`,
      /the workflow 'build-part' is built in; choose another name/,
    ],
    [
      'its parts are of other shapes',
      `${HEAD} export default { definition: define(), title: 7, roles: {}, stages: [{ name: 'a', titel: 'A' }], gate: {}, documents: [], activities: { work } };`,
      /x\.ts: workflow 'own': 'title' is wrong: .*expected string.*\n.*'roles' is wrong: .*expected array.*\n.*'stages\.0\.title' is wrong: .*\n.*'stages\.0' has unknown fields: titel.*\n.*'gate' is not a part of a workflow; there are name, title, roles.*\n.*'documents' is wrong: /,
    ],
    [
      'a stage has a role that is not declared',
      `${HEAD} export default { definition: define(), stages: [{ name: 'a', title: 'A', role: 'poet' }], activities: { work } };`,
      /x\.ts: workflow 'own': stage 'a' has the role 'poet', which 'roles' does not declare; add it/,
    ],
    [
      'a state has a stage that is not declared',
      `${HEAD} const staged = setup({ actors: { work: activity() } }).createMachine({ ...states, states: { ...states.states, a: { meta: { status: 'running', stage: 'sketching' }, invoke: { id: 'w', src: 'work' } } } });
        export default { definition: define({ machine: staged }), stages: [{ name: 'drawing', title: 'Drawing' }], activities: { work } };`,
      /x\.ts: workflow 'own' has states of the stage 'sketching', which 'stages' does not declare; add it, or use one of drawing/,
    ],
    [
      'it creates artifacts of a type that is not declared',
      `${HEAD} import { emit } from 'xstate';
        const made = setup({ actors: { work: activity() } }).createMachine({ ...states, states: { ...states.states, a: { entry: emit({ type: 'ARTIFACT_CREATED', artifact: { type: 'sketch', hash: 'h' } }), invoke: { id: 'w', src: 'work' } } } });
        export default { definition: define({ machine: made }), documents: { drawing: { title: 'Drawing', drawnAs: 'markdown' } }, activities: { work } };`,
      /x\.ts: workflow 'own' creates artifacts of the type 'sketch', which 'documents' does not declare; add it, or use one of drawing/,
    ],
    [
      'it starts child runs of a workflow that does not exist',
      `${HEAD} import { childRun } from '@autonomous/orchestrator/workflow';
        const parent = setup({ actors: { work: activity(), part: childRun('nope') } }).createMachine(states);
        export default { definition: define({ machine: parent }), activities: { work } };`,
      /x\.ts: workflow 'own' starts child runs of 'nope' as 'part', and this server has no such workflow; correct the name in childRun\('nope'\) to one of build, build-part, own, or add that workflow/,
    ],
    [
      'a child has faults',
      `${HEAD} const child = { definition: define({ name: 'part' }), stages: 'none', activities: {} };
        export default { definition: define(), children: [child, 7], activities: { work } };`,
      /x\.ts: workflow 'part': 'stages' is wrong.*\n.*x\.ts: workflow 'part' declares the activity 'work', which 'activities' does not carry out.*\n.*x\.ts: a child of workflow 'own' has no definition/,
    ],
    [
      'a child has the name of another workflow',
      `${HEAD} const part = { definition: define({ name: 'part', version: 2 }), activities: { work } };
        export default [{ definition: define({ name: 'part' }), activities: { work } }, { definition: define(), children: [part], activities: { work } }];`,
      /x\.ts \(2\.\): workflow 'part' is also in \.\/x\.ts \(1\.\), and one of the two is a child of another workflow; give it another name/,
    ],
    [
      'its version is wrong',
      `${HEAD} define({ version: 1.5 });`,
      /x\.ts cannot be loaded: Workflow 'own' cannot be made durable: its version is 1\.5; versions are whole numbers from 1/,
    ],
    [
      'it migrates from a version that is not older',
      `${HEAD} define({ version: 2, migrations: { 2: (state) => state } });`,
      /it migrates from version 2, and its own is 2; name an older version in 'migrations'/,
    ],
    [
      'activities of a function are missing',
      `${HEAD} export default { definition: define(), activities: () => ({}) };`,
      /x\.ts: workflow 'own' declares the activity 'work', which 'activities' does not carry out; add it/,
    ],
    [
      'nobody can cancel it',
      `${HEAD} export default { definition: define({ signals: {} }), activities: { work } };`,
      /workflow 'own' does not take RUN_CANCELLED/,
    ],
    [
      'it cannot be made durable',
      `${HEAD} define({ machine: setup({ actors: { tick: fromCallback(() => {}) } }).createMachine({}) });`,
      /x\.ts cannot be loaded: Workflow 'own' cannot be made durable: actor 'tick'/,
    ],
    [
      'a part cannot be read',
      `${HEAD} export default { definition: define(), activities: { work }, get versions() { throw new Error('no licence'); } };`,
      /x\.ts: the workflow cannot be read: no licence/,
    ],
    [
      'it can be read once only',
      `${HEAD} let times = 0; export default { definition: define(), activities: { work }, get title() { if (++times > 1) throw new Error('no licence'); return 'Own'; } };`,
      /x\.ts: the workflow cannot be read: no licence/,
    ],
    [
      'it is a child of itself',
      `${HEAD} const own = { definition: define(), activities: { work } }; own.children = [own]; export default own;`,
      /x\.ts: workflow 'own' is among its own children; name it in childRun\('own'\) instead/,
    ],
    [
      'the words of a gate are of another shape',
      `${HEAD} export default { definition: define(), gates: { sketch: { title: 'Sketch', presents: 'message', labels: { reject: 'No', burn: { button: 'Burn' } }, details: { attempts: '' } } }, activities: { work } };`,
      /'gates\.sketch\.labels\.reject' is wrong(.|\n)*'gates\.sketch\.labels' (is wrong|has unknown fields: burn)(.|\n)*'gates\.sketch\.details\.attempts' is wrong/,
    ],
    [
      'it is there twice',
      `${HEAD} const one = { definition: define(), activities: { work } }; export default [one, { definition: define(), activities: { work: { ...work } } }];`,
      /x\.ts \(2\.\): workflow 'own' version 1 is also in \.\/x\.ts \(1\.\).*\n.*has another activity 'work' in \.\/x\.ts \(1\.\)/,
    ],
  ])('refuses to start when %s', async (_why, text, words) => {
    const own = await mkdtemp(path.join(folder, 'case-'));
    const name = `${path.basename(own)}/x.ts`;
    const said = (await load(text === '' ? {} : { [name]: text }, `./${name}`)).replaceAll(
      path.basename(own) + '/',
      '',
    );
    expect(said).toMatch(words);
  });

  it('takes a child in its smallest form', async () => {
    const child = `const child = { definition: define({ name: 'part' }), activities: { work } };`;
    const files = {
      'family/x.ts': `${HEAD} ${child} export default { definition: define(), children: [child], activities: { work } };`,
    };
    expect(await load(files)).toBe('own 1, work');
  });

  it('takes gates with words and details of their own', async () => {
    const gates = `{ sketch: { title: 'Sketch', presents: 'message', labels: { reject: { button: 'Give guidance', field: 'Guidance' }, approve: { button: 'Go on' } }, details: { attempts: 'Attempts' } } }`;
    const files = {
      'words/x.ts': `${HEAD} export default { definition: define(), gates: ${gates}, activities: { work } };`,
    };
    expect(await load(files)).toBe('own 1, work');
  });

  it('refuses faults of all files at once', async () => {
    const said = await load({
      'many/one.ts': `${HEAD} export default { definition: define(), stages: [{ name: 'a', title: 'A', role: 'poet' }], gates: { sketch: { title: 'Sketch', presents: 'document', document: 'drawing' } }, activities: {} };`,
      'many/two.ts': `${HEAD} export default { definition: define({ name: 'build' }), activities: { work } };`,
      'many/three.ts': `throw new Error('no licence');`,
    });
    expect(said.split('\n').map((line) => line.trim())).toEqual([
      expect.stringContaining('The server cannot start with the workflows of AUTONOMOUS_WORKFLOWS'),
      expect.stringMatching(/many\/one\.ts: workflow 'own': gate 'sketch' presents the document 'drawing'/),
      expect.stringMatching(/many\/one\.ts: workflow 'own': stage 'a' has the role 'poet'/),
      expect.stringMatching(/many\/one\.ts: workflow 'own' declares the activity 'work'/),
      expect.stringMatching(/many\/two\.ts: the workflow 'build' is built in/),
      expect.stringMatching(/many\/three\.ts cannot be loaded: no licence/),
    ]);
  });

  it('refuses what lies where runs write, and packages that are not there, all at once', async () => {
    await load({ 'data/runs/r/evil.ts': GOOD });
    await symlink(path.join(folder, 'data'), path.join(folder, 'link'));
    await load({
      'data/package/index.js': GOOD,
      'data/package/package.json': '{"type":"module","exports":"./index.js"}',
    });
    await mkdir(path.join(folder, 'node_modules'), { recursive: true });
    await symlink(path.join(folder, 'data/package'), path.join(folder, 'node_modules/evil'));
    await load({ 'data/..x/wf.ts': GOOD });
    const said = await load(
      {},
      './data/runs/r/evil.ts',
      './link/runs/r/evil.ts',
      './data/..x/wf.ts',
      'evil',
      'nobody-has-this',
    );
    expect(said).toContain('./data/..x/wf.ts is in the data folder');
    expect(said).toContain('evil is in the data folder');
    expect(said).toContain('./data/runs/r/evil.ts is in the data folder, which runs write to');
    expect(said).toContain('./link/runs/r/evil.ts is in the data folder, which runs write to');
    expect(said).toContain(`nobody-has-this cannot be loaded: there is no package of this name in or above ${folder}`);
  });

  it('says so at its start and ends', async () => {
    const home = await mkdtemp(path.join(folder, 'home-'));
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, AUTONOMOUS_WORKFLOWS: './nothing.ts' };
    const ended = await execute(
      process.execPath,
      [PROGRAM, 'serve', '--port', '0', '--data', path.join(home, 'data')],
      { cwd: home, env },
    ).then(
      () => null,
      (error: unknown) => error as { readonly code: number; readonly stderr: string },
    );
    expect(ended?.stderr).toMatch(
      /The server cannot start with the workflows of AUTONOMOUS_WORKFLOWS:\n {2}\.\/nothing\.ts cannot be loaded: there is no file/,
    );
    expect(ended?.stderr).not.toMatch(/\n +at /);
    expect(ended?.code).toBe(1);
  });
});
