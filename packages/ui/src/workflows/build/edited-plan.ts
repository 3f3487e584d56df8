/** Gate kinds of `build` at which a person may approve a plan that they have edited, besides those whose description offers it. */
export const EDITABLE_AT: ReadonlySet<string> = new Set(['plan']);
