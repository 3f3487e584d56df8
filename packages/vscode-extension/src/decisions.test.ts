/** Commands that decide, called from each surface of the editor. The editor's own windows are fakes. */
import type { Decision, Gate, RunView } from '@autonomous/shared';
import { aWaitingRun, aWorkflow, byId } from '@autonomous/shared/a-run.fixture';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Host, Panels } from './host.ts';
import { COMMANDS } from './identifiers.ts';

const window = vi.hoisted(() => ({
  activeTextEditor: undefined,
  tabGroups: { activeTabGroup: { activeTab: undefined } },
  showInformationMessage: vi.fn<(message: string) => Promise<undefined>>(async () => undefined),
  showWarningMessage: vi.fn<() => Promise<string>>(async () => 'Approve'),
  showQuickPick: vi.fn<(items: readonly unknown[]) => Promise<unknown>>(async (items) => items[0]),
  showInputBox: vi.fn<() => Promise<string>>(async () => 'Good enough.'),
}));
/** A class of the editor of which nothing is made but an icon. */
const Unused = vi.hoisted(() => function Unused() {});
vi.mock('vscode', () => ({
  window,
  Uri: Unused,
  ThemeIcon: Unused,
  TabInputText: Unused,
  TabInputTextDiff: Unused,
}));
const { decisionCommands } = await import('./commands/decisions.ts');

const decideGate = vi.fn<(gateId: string, decision: unknown) => Promise<RunView>>();
const openScreen = vi.fn<Panels['openScreen']>();

/** The commands of a window that knows one run, waiting at a gate. */
function commandsAt(gate: Partial<Gate>) {
  const run = aWaitingRun('r', {}, { artifactHash: 'a1', codeTree: 'b2', ...gate });
  decideGate.mockResolvedValue(run);
  const context = { runs: byId(run) };
  const host = {
    connection: { client: { decideGate }, store: { getSnapshot: () => ({ context }) } },
    pending: { during: (_run: string, _label: string, work: () => Promise<unknown>) => work() },
    projects: { names: new Map() },
    workflows: { getSnapshot: () => ({ context: { workflows: [aWorkflow()], isLoaded: true, fault: null } }) },
  } as unknown as Host; // As far as the commands use it.
  const panels = { openScreen, activeRunId: () => null } as unknown as Panels; // Likewise.
  return decisionCommands(host, panels);
}

beforeEach(() => vi.clearAllMocks());

const shown = { gateId: 'r.4', artifactHash: 'a1', codeTree: 'b2' };
const concerns = [
  { kind: 'runs_code', title: 'A changed file can run code', items: [{ reason: 'x' }], hash: 'h' },
] as const;
const surfaces: readonly (readonly [string, unknown])[] = [
  ['a notification', { runId: 'r', shown }],
  ['a line of the tree', { id: 'waiting/run/r/r.4', runId: 'r', shown }],
  ['the palette', undefined],
  ['another extension', 'r'],
];

it.each(surfaces)('%s opens the review in place of accepting concerns that it does not show', async (_name, target) => {
  const decisions: readonly Decision[] = ['approve', 'accept', 'retry'];
  const commands = commandsAt({ decisions, concerns });
  for (const decision of ['approve', 'accept'] as const) {
    openScreen.mockClear();
    await commands[COMMANDS[decision]]?.(target);
    expect(openScreen).toHaveBeenCalledExactlyOnceWith({ name: 'run', runId: 'r', gate: 'r.4' });
  }
  expect(decideGate).not.toHaveBeenCalled();
  expect(window.showInformationMessage.mock.calls[0]?.[0]).toMatch(
    /^Approve “Add a login page” in its review: .*\(A changed file can run code\)/,
  );
  // A decision that accepts nothing is made where the command was given.
  await commands[COMMANDS.retry]?.(target);
  expect(decideGate).toHaveBeenCalledOnce();
});

it.each(surfaces)('%s approves a gate without concerns as it showed it', async (_name, target) => {
  await commandsAt({ decisions: ['approve'] })[COMMANDS.approve]?.(target);
  expect(decideGate.mock.calls[0]?.slice(0, 2)).toEqual(['r.4', { decision: 'approve', ...shown }]);
  expect(openScreen).not.toHaveBeenCalled();
});

it('opens the document that has to be corrected in place of approving it', async () => {
  await commandsAt({ kind: 'invalid_plan', decisions: ['approve'] })[COMMANDS.approve]?.({ runId: 'r', shown });
  expect(openScreen).toHaveBeenCalledExactlyOnceWith({ name: 'run', runId: 'r', tab: 'plan' });
  expect(decideGate).not.toHaveBeenCalled();
});

it('offers the words that a gate takes with an approval, and approves without them where they stay empty', async () => {
  const commands = commandsAt({ kind: 'escalation', decisions: ['approve'] });
  await commands[COMMANDS.approve]?.({ runId: 'r', shown });
  expect(decideGate.mock.calls[0]?.[1]).toMatchObject({ decision: 'approve', notes: 'Good enough.' });
  window.showInputBox.mockResolvedValueOnce('');
  await commands[COMMANDS.approve]?.({ runId: 'r', shown });
  expect(decideGate.mock.calls[1]?.[1]).not.toHaveProperty('notes');
});
