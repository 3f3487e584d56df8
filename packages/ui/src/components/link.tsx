/** A link to a screen: an address that can be copied, opened in another tab, and followed here without a reload. */
import type { ReactNode } from 'react';
import type { Screen } from '../bridge.ts';
import { useHost } from '../hosts/host.ts';

export function Link({
  to,
  className,
  current,
  children,
}: {
  readonly to: Screen;
  readonly className?: string;
  readonly current?: boolean;
  readonly children: ReactNode;
}) {
  const { go, hrefOf } = useHost();
  return (
    <a
      href={hrefOf(to)}
      className={className}
      aria-current={current ? 'page' : undefined}
      onClick={(event) => {
        if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
