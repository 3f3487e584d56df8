/** The change of a context that a part makes. */

/**
 * Types the change of a part's own fields as a change of the context that has them.
 * @param change fields of the part's context, `Part`, that get a new value
 */
export function changeOf<Context extends Part, Part>(change: Partial<Part>): Partial<Context> {
  // TypeScript does not see that fields of `Part` are fields of a generic context that extends it.
  return change as unknown as Partial<Context>;
}
