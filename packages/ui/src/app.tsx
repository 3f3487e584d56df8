/** The screens, in whichever host they are: which one is shown, and how the connection is. */
import { useSelector } from '@xstate/store-react';
import { createRoot } from 'react-dom/client';
import './parts/elements.ts';
import type { Screen } from './bridge.ts';
import { RESUMING } from './connection-news.ts';
import { createDashboardHost } from './hosts/dashboard-host.ts';
import { type Host, HostProvider, useHost } from './hosts/host.ts';
import { createWebViewHost, type WebViewApi } from './hosts/web-view-host.ts';
import { Link } from './parts/link.tsx';
import { Exploration } from './screens/exploration.tsx';
import { Launch } from './screens/launch.tsx';
import { RunList } from './screens/run-list.tsx';
import { RunPage } from './screens/run-page.tsx';
import { SignIn } from './screens/sign-in.tsx';

function App({ host }: { readonly host: Host }) {
  return (
    <HostProvider value={host}>
      {host.kind === 'dashboard' && <Banner />}
      <Connection />
      <Faults />
      <main id="main">
        <Shown />
      </main>
    </HostProvider>
  );
}

function Banner() {
  const { place } = useHost();
  const screen = useSelector(place, ({ context }) => context.screen.name);
  return (
    <header className="banner">
      <a className="skip" href="#main">
        To the content
      </a>
      <Link to={{ name: 'runs' }} className="brand" current={screen === 'runs'}>
        Autonomous
      </Link>
    </header>
  );
}

/** Quiet while all is well: what is shown is then as new as the server. It moves nothing when it comes and goes. */
function Connection() {
  const { place } = useHost();
  const news = useSelector(place, ({ context }) => context.news);
  return (
    <p className={news === null ? 'hidden' : 'offline'} role="status">
      {news !== null && (
        <>
          <vscode-icon name={news === RESUMING ? 'sync' : 'debug-disconnect'} aria-hidden="true" /> {news}
        </>
      )}
    </p>
  );
}

function Faults() {
  const { place } = useHost();
  const faults = useSelector(place, ({ context }) => context.faults);
  return faults.map(({ id, message }) => (
    <p key={id} className="fault" role="alert">
      {message}{' '}
      <button type="button" className="link" onClick={() => place.trigger.dismissed({ id })}>
        Dismiss
      </button>
    </p>
  ));
}

function Shown() {
  const { place } = useHost();
  const signedIn = useSelector(place, ({ context }) => context.signedIn);
  const screen = useSelector(place, ({ context }) => context.screen);
  if (signedIn === false) return <SignIn />;
  if (signedIn === 'unknown') return null;
  return <ScreenOf screen={screen} />;
}

function ScreenOf({ screen }: { readonly screen: Screen }) {
  switch (screen.name) {
    case 'run':
      return <RunPage key={screen.runId} runId={screen.runId} tab={screen.tab ?? 'overview'} />;
    case 'exploration':
      return <Exploration explorationId={screen.explorationId} />;
    case 'launch':
      return <Launch />;
    case 'runs':
      return <RunList />;
    default:
      return screen satisfies never;
  }
}

declare global {
  // Only in a web view of the editor.
  var acquireVsCodeApi: (() => WebViewApi) | undefined;
}

const root = document.querySelector('#app');
if (root === null) throw new Error('The page has no element #app');
const host =
  globalThis.acquireVsCodeApi === undefined
    ? createDashboardHost(window)
    : createWebViewHost(window, globalThis.acquireVsCodeApi());
createRoot(root).render(<App host={host} />);
