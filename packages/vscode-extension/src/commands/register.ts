/** Registers commands. An error of a command is shown to the person and logged. */
import { explainRefusal } from '@autonomous/shared/client';
import * as vscode from 'vscode';
import type { Host } from '../host.ts';
import type { CommandId } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';

export type CommandTable = Readonly<Partial<Record<CommandId, (target: unknown) => unknown>>>;

export function registerCommands(host: Host, commands: CommandTable): void {
  for (const [id, perform] of Object.entries(commands)) {
    host.context.subscriptions.push(
      vscode.commands.registerCommand(id, async (target: unknown) => {
        try {
          return await perform(target);
        } catch (error) {
          return sayFailure(host, error);
        }
      }),
    );
  }
}

/** Says why something was not done. */
export function sayFailure(host: Host, error: unknown): void {
  const words = explainRefusal(error, Date.now());
  host.log.error(error instanceof Error && error.cause !== undefined ? `${words} (${String(error.cause)})` : words);
  void vscode.window.showErrorMessage(plainMessage(words));
}
