/** Copies the address of a screen, or of one thing on it. */
import { useState } from 'react';
import type { Screen } from '../bridge.ts';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { Icon } from './icon.tsx';

/** @param what such as `gate`: what the link leads to */
export function CopyLink({ to, what }: { readonly to: Screen; readonly what: string }) {
  const { copyLink } = useHost();
  const [said, setSaid] = useState('');
  const copy = (): void => {
    copyLink(to).then(
      () => setSaid('Copied'),
      (error: unknown) => setSaid(messageOf(error)),
    );
  };
  return (
    <span className="copy-link">
      <button type="button" className="icon" title={`Copy the link to this ${what}`} onClick={copy}>
        <Icon name={said === 'Copied' ? 'check' : 'link'} />
        <span className="hidden">Copy the link to this {what}</span>
      </button>
      <span role="status" className={said === 'Copied' ? 'hidden' : 'quiet'}>
        {said}
      </span>
    </span>
  );
}
