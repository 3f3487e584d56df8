/** A page as its reader gives it, before it is cleaned and cut. */
export interface ReadPage {
  readonly title: string;
  /** Empty where the page does not state it; so is `published`. */
  readonly author: string;
  readonly published: string;
  readonly text: string;
  /** True when reading stopped before the end of the page. */
  readonly isCut: boolean;
}

/** A page, or why there is none: the rest of a sentence whose subject is the page. */
export type PageReading = { readonly ok: true; readonly page: ReadPage } | { readonly ok: false; readonly why: string };
