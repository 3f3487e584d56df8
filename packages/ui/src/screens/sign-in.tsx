/** Page for a browser that is not signed in. The requested address is kept. */
import { useState } from 'react';
import { codeIn, LINK_REFUSED } from '@autonomous/shared/presentation';
import { pathOf } from '../bridge.ts';
import { useHost } from '../hosts/host.ts';
import { valueOf } from '../components/elements.ts';

export function SignIn() {
  const { place } = useHost();
  const [link, setLink] = useState('');
  const target = pathOf(place.getSnapshot().context.screen);
  const code = codeIn(link);
  const signIn = (): void => {
    if (code !== null) window.location.assign(`/auth?${new URLSearchParams({ code, to: target }).toString()}`);
  };
  return (
    <section className="sign-in">
      <h1>Not signed in</h1>
      {window.location.hash === LINK_REFUSED && (
        <p role="alert">
          That link does not sign in: it was used, is older than ten minutes, is from before a restart of the server, or
          is the link of another one.
        </p>
      )}
      <p>
        Open the link that the server printed when it started: it signs this browser in, once, within ten minutes. A
        server that runs already prints another one; if it was started with a variable <code>AUTONOMOUS_DATA</code>, set
        it for this command too:
      </p>
      <pre>{document.documentElement.dataset['program'] ?? 'npm run autonomous --'} sign-in</pre>
      <div className="field">
        <label htmlFor="sign-in-link">Or paste the link here</label>
        <vscode-textfield
          id="sign-in-link"
          label="The link that signs in"
          placeholder="http://…/auth?code=…"
          value={link}
          oninput={(event) => setLink(valueOf(event))}
          onKeyDown={({ key }) => key === 'Enter' && signIn()}
        />
        <vscode-button disabled={code === null} onClick={signIn}>
          Sign in
        </vscode-button>
        {code === null && link.trim() !== '' && (
          <p role="status">This is not a sign-in link. It has the form http://…/auth?code=…</p>
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
