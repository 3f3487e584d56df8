/** LaTeX source as a type of its own, so that text of others cannot take its place. Pure. */

/** Source that LaTeX may run. Only code of this folder makes it; text of others becomes it by `texText` and its like. */
export class Tex {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

export function joinTex(parts: readonly Tex[], separator: string): Tex {
  return new Tex(parts.map(({ source }) => source).join(separator));
}
