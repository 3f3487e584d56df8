/** The package's entry: what AUTONOMOUS_WORKFLOWS names. */
import { remindCustomer, writeInvoice } from './activities.ts';
import { invoice } from './machine.ts';

export const workflows = [{ definition: invoice, activities: { writeInvoice, remindCustomer } }];
