/** A link to a page of another server, which opens beside this one. */
import type { ReactNode } from 'react';

export function Outside({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}
