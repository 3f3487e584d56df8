/**
 * What the invoice workflow does outside. Each activity is performed at least once, so it recognises what it has done before
 * by its key: the same over all attempts, restarts and crashes.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Activity, type ActivityContext, RetryableFailure } from '@autonomous/orchestrator/engine';
import type { Invoice } from './machine.ts';

const folder = process.env['INVOICE_FOLDER'] ?? 'invoices';

export const writeInvoice: Activity<Invoice, { file: string }> = {
  retry: { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 30_000 },

  /** Asked before each attempt: is the effect there already? Then it is not made again. */
  async find(_invoice, context) {
    const file = fileOf(context, 'txt');
    return (await exists(file)) ? { file } : undefined;
  },

  async perform({ customer, address, cents, wishes }, context) {
    const file = fileOf(context, 'txt');
    const lines = [`Invoice for ${customer}`, address, `${(cents / 100).toFixed(2)} EUR`, ...wishes, context.startedAt];
    await writeWhole(file, `${lines.join('\n')}\n`);
    return { file };
  },
};

export const remindCustomer: Activity<{ customer: string; file: string; count: number }, { sent: boolean }> = {
  retry: { attempts: 5, firstDelayMs: 100, maxDelayMs: 60_000 },

  async find(_reminder, context) {
    return (await exists(fileOf(context, 'sent'))) ? { sent: true } : undefined;
  },

  async perform({ customer, count }, context) {
    // A mail server would be asked here, with context.key as the message's id. This one is often busy.
    if (context.attempt === 1) throw new RetryableFailure('the mail server is busy');
    context.progress({ kind: 'note', text: `reminding ${customer} (${count})` });
    await writeWhole(fileOf(context, 'sent'), `Dear ${customer}, this is reminder ${count}.\n`);
    return { sent: true };
  },
};

/** One file an activation: the key names it. */
function fileOf({ key }: ActivityContext, ending: string): string {
  return path.join(folder, `${key.replaceAll('/', '-')}.${ending}`);
}

async function exists(file: string): Promise<boolean> {
  return readFile(file).then(
    () => true,
    () => false,
  );
}

/** Whoever sees the file sees all of it, also after a crash. */
async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(`${file}.part`, text);
  await rename(`${file}.part`, file);
}
