/**
 * Measures the waiting times of a person on a busy server with other clients.
 *
 * eventToScreenP95Ms: from an event's own time, which is before its commit, to the frame of Chromium that shows it in the
 * list of runs, while so many runs work and so many clients listen; beside it the same change, told by a bare socket to a
 * bare page · list5000Ms: opening the list of a server with 5,000 runs, from the navigation to the first painted rows, in a
 * browser that was there before; firstList5000Ms in one that was not; beside it a bare page with as much data · activationMs:
 * what VS Code says that the packaged extension took, loading its code included; beside it the slowest of the editor's own
 * extensions in the same windows · webViewScripts: files of scripts that a web view asked for · missed, doubled, disordered:
 * events, over clients whose connections were cut so often. Of several openings and starts, the median.
 *
 * Options: --parts screen,list,activation,cuts --runs N --clients N --seconds N --list N --visits N --starts N --cuts N
 */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BenchResult, Figures } from './bench.ts';
import { runChild } from './contest/child.ts';
import { readPartsAndNumbers } from './contest/options.ts';
import { describeProbe, type Probe, probeMachine } from './contest/processes.ts';
import { median, percentile, ratio, rounded } from './contest/statistics.ts';
import { withServer } from './feed/bench-server.ts';
import { launchPulses } from './feed/pulses.ts';
import { matchSteps, type Step } from './feed/steps.ts';
import type {
  BareReport,
  BareTask,
  ClientsReport,
  ClientsTask,
  CutsReport,
  CutsTask,
  FaceReport,
  FaceTask,
} from './feed/tasks.ts';

export const name = 'feed';
export const description = 'event to screen with 50 runs and 20 clients, a list of 5,000 runs, activation, 1,000 cuts';

const PARTS = ['screen', 'list', 'activation', 'cuts'] as const;
type Part = (typeof PARTS)[number];
type Numbers = Readonly<Record<'runs' | 'clients' | 'seconds' | 'list' | 'visits' | 'starts' | 'cuts', number>>;

/** The named figures of each part where there is no browser. */
const NOT_MEASURED: Readonly<Record<Part, Figures>> = {
  screen: { eventToScreenP95Ms: null },
  list: { list5000Ms: null },
  activation: { activationMs: null, webViewScripts: null },
  cuts: {},
};

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const here = (program: string): string => path.join(import.meta.dirname, 'feed', program);
/** With what e2e is played with, which is none of the workspace's. */
const FACES = path.join(ROOT, 'e2e', 'feed-bench', 'face-process.ts');
/** Fetching a browser's driver or a whole editor counts as silence, too. */
const SILENCE_S = 300;
const EVERY_MS = 1_000;
const LINES = 3;
/** Of the runs in the list: so many wait for a person, so many work, and the others are over. */
const WAITING = 40;
const WORKING = 20;
const LIST_EVERY_MS = 10_000;
/** So long that a run's view is as large as that of a build: of the runs of this bench it would have nothing else in it. */
const REQUEST = 'Keep the totals right when an order is split in two. '.repeat(160);
const FIRST_VISITS = 3;
const CUT_EVERY_MS = 500;
const WARM_UP_S = 2;
/** What was made so shortly before the end need not be seen any more. */
const UNSEEN_MS = 1_000;

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { parts, numbers } = readPartsAndNumbers(args, PARTS, {
    runs: 50,
    clients: 20,
    seconds: 20,
    list: 5_000,
    visits: 9,
    starts: 7,
    cuts: 1_000,
  });
  const measure: Readonly<Record<Part, (numbers: Numbers) => Promise<Figures>>> = {
    screen: measureScreen,
    list: measureList,
    activation: measureActivation,
    cuts: measureCuts,
  };
  const probes: Probe[] = [];
  const notes: string[] = [];
  const figures: Record<string, Figures[string]> = {};
  const hasBrowser = parts.size === Number(parts.has('cuts')) || (await prepareBrowser());
  if (!hasBrowser) notes.push('Without Chromium (Debian: apt-get install chromium), only the cuts can be measured.');
  for (const part of parts) {
    say(part);
    probes.push(probeMachine(tmpdir()));
    const canMeasure = hasBrowser || part === 'cuts';
    Object.assign(figures, canMeasure ? await measure[part](numbers) : NOT_MEASURED[part]);
  }
  return {
    table: {
      columns: ['figure', 'value'],
      rows: Object.entries(figures).map(([figure, value]) => [figure, shown(value)]),
    },
    notes: [...notes, describeProbe(probes)],
    figures,
  };
}

/** Steps as they come to a screen of the dashboard, with all the other clients there; then the same without the product. */
async function measureScreen({ runs, clients, seconds }: Numbers): Promise<Figures> {
  const own = await withServer(runs, async ({ url, token, client }) => {
    await launchPulses(client, { kind: 'works', count: runs, everyMs: EVERY_MS, lines: LINES });
    const address = await client.createSignInLink();
    return watchScreen({ url, token, clients: clients - 1, isBare: false }, address, seconds);
  });
  let bare: Watched | undefined;
  await stayWhile<BareReport>(
    here('bare-process.ts'),
    { runs, everyMs: EVERY_MS } satisfies BareTask,
    async (listening) => {
      const { url } = listening;
      bare = await watchScreen({ url, token: '', clients: clients - 1, isBare: true }, url, seconds);
    },
  );
  const screenP95Ms = percentile(own.latenciesMs, 95);
  const bareP95Ms = percentile(bare?.latenciesMs ?? [], 95);
  return {
    screenSteps: own.latenciesMs.length,
    unseenSteps: own.unseen,
    messagesPerS: rounded(own.messagesPerS),
    eventToScreenP50Ms: figure(median(own.latenciesMs)),
    eventToScreenP95Ms: figure(screenP95Ms),
    eventToClientP95Ms: figure(percentile(own.agesMs, 95)),
    bareToScreenP95Ms: figure(bareP95Ms),
    screenOverBare: figure(ratio(screenP95Ms, bareP95Ms)),
  };
}

interface Watched {
  readonly latenciesMs: readonly number[];
  readonly unseen: number;
  /** How old a step was when another client heard of it. */
  readonly agesMs: readonly number[];
  /** To all other clients. */
  readonly messagesPerS: number;
}

async function watchScreen(task: ClientsTask, address: string, seconds: number): Promise<Watched> {
  const made: Step[] = [];
  const agesMs: number[] = [];
  let messages = 0;
  let painted: (FaceReport & { readonly report: 'painted' }) | undefined;
  const from = performance.now();
  await stayWhile<ClientsReport>(
    here('clients-process.ts'),
    task,
    async () => {
      painted = await face({ task: 'screen', address, warmUpS: WARM_UP_S, seconds }, 'painted');
    },
    (heard) => {
      if (heard.report !== 'heard') return;
      made.push(...heard.steps);
      agesMs.push(...heard.agesMs);
      messages += heard.messages;
    },
  );
  if (painted === undefined) throw new Error('The screen reported nothing.');
  const messagesPerS = (messages * 1_000) / (performance.now() - from);
  return { ...matchSteps(made, painted.steps, painted.until - UNSEEN_MS), agesMs, messagesPerS };
}

async function measureList({ list, visits }: Numbers): Promise<Figures> {
  const own = await withServer(WAITING + WORKING, async ({ url, client }) => {
    say(`${list} runs`);
    const waiting = Math.min(WAITING, list);
    const working = Math.min(WORKING, list - waiting);
    await launchPulses(client, { kind: 'ends', count: list - waiting - working, request: REQUEST });
    await launchPulses(client, { kind: 'waits', count: waiting });
    await launchPulses(client, { kind: 'works', count: working, everyMs: LIST_EVERY_MS });
    const links = await Promise.all(
      Array.from({ length: Math.min(FIRST_VISITS, visits) }, () => client.createSignInLink()),
    );
    say('opening their list');
    return face({ task: 'list', links, address: url, visits }, 'listed');
  });
  let bare: Wanted<'listed'> | undefined;
  await stayWhile<BareReport>(
    here('bare-process.ts'),
    { runs: 1, everyMs: EVERY_MS } satisfies BareTask,
    async ({ url }) => {
      bare = await face({ task: 'list', links: [null], address: `${url}/list`, visits }, 'listed');
    },
  );
  const [ownMs, bareMs] = [median(own.againMs), median(bare?.againMs ?? [])];
  return {
    listed: list,
    list5000Ms: figure(ownMs),
    firstList5000Ms: figure(median(own.firstMs)),
    bareListMs: figure(bareMs),
    listOverBare: figure(ratio(ownMs, bareMs)),
  };
}

async function measureActivation({ starts }: Numbers): Promise<Figures> {
  return withServer(1, async ({ url, token, client }) => {
    await launchPulses(client, { kind: 'waits', count: 1 });
    const { activationMs, others, webViewScripts } = await face(
      { task: 'activation', starts, url, token },
      'activated',
    );
    const slowestOther = Math.max(...Object.values(others).map((each) => median(each) ?? 0));
    return {
      activationMs: figure(median(activationMs)),
      slowestActivationMs: Math.max(...activationMs),
      slowestOtherExtensionMs: rounded(slowestOther),
      webViewScripts,
    };
  });
}

async function measureCuts({ clients, cuts, runs }: Numbers): Promise<Figures> {
  return withServer(runs, async ({ url, token }) => {
    const task: CutsTask = { url, token, clients, cuts, runs, everyMs: CUT_EVERY_MS };
    let compared: (CutsReport & { readonly report: 'compared' }) | undefined;
    const failure = await runChild<CutsReport>(here('cuts-process.ts'), task, {
      silenceS: SILENCE_S,
      onMessage: (report) => {
        if (report.report === 'compared') compared = report;
      },
    });
    if (failure !== undefined || compared === undefined)
      throw new Error(`The clients that are cut off failed: ${failure ?? 'they reported nothing'}`);
    const { report: _report, ...figures } = compared;
    return figures;
  });
}

/** The dashboard as it is now, and what drives a browser. @returns whether there is a browser */
async function prepareBrowser(): Promise<boolean> {
  const { hasChromium } = await face({ task: 'look' }, 'looked');
  if (!hasChromium) return false;
  const { status } = spawnSync(process.execPath, [path.join(ROOT, 'packages/ui/build.mjs'), '--if-stale'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('The screens could not be built.');
  return true;
}

type Wanted<Kind extends FaceReport['report']> = FaceReport & { readonly report: Kind };

/** Lets a process with a browser do something. @returns its report of that kind */
async function face<Kind extends FaceReport['report']>(task: FaceTask, kind: Kind): Promise<Wanted<Kind>> {
  let found: Wanted<Kind> | undefined;
  const failure = await runChild<FaceReport>(FACES, task, {
    silenceS: SILENCE_S,
    onMessage: (report) => {
      // What the type says.
      if (report.report === kind) found = report as Wanted<Kind>;
    },
  });
  if (failure !== undefined || found === undefined)
    throw new Error(`The process for '${task.task}' failed: ${failure ?? 'it reported nothing'}`);
  return found;
}

/** Starts a process that stays, does something when it has first reported, and ends it. */
async function stayWhile<Report>(
  program: string,
  task: object,
  act: (first: Report) => Promise<void>,
  onReport: (report: Report) => void = () => undefined,
): Promise<void> {
  let acting: Promise<void> | undefined;
  let hasActed = false;
  const failure = await runChild<Report>(program, task, {
    silenceS: SILENCE_S,
    onMessage: (report, kill) => {
      onReport(report);
      acting ??= act(report).finally(() => {
        hasActed = true;
        kill();
      });
    },
  });
  if (!hasActed) throw new Error(`${path.basename(program)} failed: ${failure ?? 'it ended too soon'}`);
  await acting;
}

function figure(value: number | null): number | null {
  return value === null ? null : rounded(value);
}

function shown(value: Figures[string] | undefined): string | number {
  return typeof value === 'number' ? value : '–';
}

function say(what: string): void {
  console.error(`[feed] ${what}`);
}
