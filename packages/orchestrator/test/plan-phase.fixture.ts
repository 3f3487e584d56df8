/** The workflow of one phase as a custom workflow: no run of the product starts it yet. */
import { planPhase } from '../src/workflows/phased-plan/phase/index.ts';

export const workflows = [planPhase];
