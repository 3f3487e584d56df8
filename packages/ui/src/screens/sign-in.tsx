/** Page for a browser that is not signed in. The requested address is kept. */
import { useState } from 'react';
import { isSameAddress, LINK_REFUSED, signInLinkIn } from '@autonomous/shared/presentation';
import { pathOf } from '../bridge.ts';
import { useHost } from '../hosts/host.ts';
import { valueOf } from '../components/elements.ts';

export function SignIn() {
  const { place } = useHost();
  const [pasted, setPasted] = useState('');
  const target = pathOf(place.getSnapshot().context.screen);
  const link = signInLinkIn(pasted);
  const { hash, origin } = window.location;
  const isRefused = hash === LINK_REFUSED;
  const signIn = (): void => {
    if (link === null) return;
    window.location.assign(`/auth?${new URLSearchParams({ code: link.code, to: target }).toString()}`);
  };
  return (
    <section className="sign-in">
      <h1>Not signed in</h1>
      {isRefused && pasted === '' && (
        <p role="alert">
          That link does not sign in: it was used, is older than ten minutes, was cut off while it was copied, is from
          before a restart of the server, or is the link of another one.
        </p>
      )}
      <p>
        {!isRefused &&
          'Open the link that the server printed when it started: it signs this browser in, once, within ten minutes. '}
        Print a new link with:
      </p>
      <pre>{document.documentElement.dataset['program'] ?? 'npm run autonomous --'} sign-in</pre>
      <p className="quiet">
        If the server was started with a variable <code>AUTONOMOUS_DATA</code>, set it for this command too.
      </p>
      <div className="field">
        <label htmlFor="sign-in-link">Or paste the link here</label>
        <vscode-textfield
          id="sign-in-link"
          label="The link that signs in"
          placeholder="http://…/auth?code=…"
          value={pasted}
          oninput={(event) => setPasted(valueOf(event))}
          onKeyDown={({ key }) => key === 'Enter' && signIn()}
        />
        <vscode-button disabled={link === null} onClick={signIn}>
          Sign in
        </vscode-button>
        {link === null && pasted.trim() !== '' && (
          <p role="status">
            {pasted.includes('/auth?code=')
              ? 'This sign-in link is not whole: copy it with its end.'
              : 'This is not a sign-in link, which has the form http://…/auth?code=… A token signs no browser in.'}
          </p>
        )}
        {link !== null && !isSameAddress(link.origin, origin) && (
          <p role="status">
            This link belongs to the server at {link.origin}; this page is at {origin}. Here it signs in only if both
            are the same server.
          </p>
        )}
      </div>
      {target !== '/' && (
        <p className="quiet">
          You come back to <code>{target}</code> afterwards, also when the link is opened in another tab.
        </p>
      )}
    </section>
  );
}
