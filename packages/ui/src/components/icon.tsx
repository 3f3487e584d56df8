/** A sign of the editor's own font, whose styles the page has. As plain text it costs a hundredth of an element with a root of its own. */

interface IconProps {
  /** Of codicons, such as `pass`. */
  readonly name: string;
  readonly className?: string;
  readonly spin?: boolean;
}

/** Says nothing to a screen reader: what it means stands beside it. */
export function Icon({ name, className = '', spin = false }: IconProps) {
  const turning = spin ? 'codicon-modifier-spin' : '';
  return <span className={`codicon codicon-${name} ${turning} ${className}`} aria-hidden="true" />;
}
