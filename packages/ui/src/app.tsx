/** The screens, in whichever host they are: which one is shown, and how the connection is. */
import { useSelector } from '@xstate/store-react';
import { createRoot } from 'react-dom/client';
import './parts/elements.ts';
import { DEFAULT_METRICS_DAYS, type Screen } from './bridge.ts';
import { pollingNews, RESUMING } from './connection-news.ts';
import { createDashboardHost } from './hosts/dashboard-host.ts';
import { type Host, HostProvider, useHost } from './hosts/host.ts';
import { createWebViewHost, type WebViewApi } from './hosts/web-view-host.ts';
import { DrawerProvider } from './parts/diagram.tsx';
// oxlint-disable-next-line import/default -- build.mjs makes it: the program of that file, as one text
import drawingProgram from './parts/drawing-frame.ts?program';
import { createDrawer } from './parts/drawing.ts';
import { Link } from './parts/link.tsx';
import { Exploration } from './screens/exploration.tsx';
import { Launch } from './screens/launch.tsx';
import { Metrics } from './screens/metrics.tsx';
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
        <DrawerProvider value={drawer}>
          <Shown />
        </DrawerProvider>
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
      <nav aria-label="Screens">
        <Link to={{ name: 'metrics' }} current={screen === 'metrics'}>
          Metrics
        </Link>
      </nav>
    </header>
  );
}

/** Quiet while all is well: what is shown is then as new as the server. It moves nothing when it comes and goes. */
function Connection() {
  const { place, runs } = useHost();
  const told = useSelector(place, ({ context }) => context.news);
  const connection = useSelector(runs, ({ context }) => context.connection);
  const news = told ?? (connection.state === 'polling' ? pollingNews(connection.reason) : null);
  const isAtWork = news === RESUMING || (told === null && news !== null);
  return (
    <p className={news === null ? 'hidden' : 'offline'} role="status">
      {news !== null && (
        <>
          <vscode-icon name={isAtWork ? 'sync' : 'debug-disconnect'} aria-hidden="true" /> {news}
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
      return <RunPage key={screen.runId} screen={screen} />;
    case 'exploration':
      return <Exploration key={screen.explorationId} explorationId={screen.explorationId} />;
    case 'launch':
      return <Launch />;
    case 'metrics':
      return <Metrics days={screen.days ?? DEFAULT_METRICS_DAYS} projectId={screen.projectId} />;
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

// The page lets nothing run but what bears its nonce, which the script that runs here does.
const drawer = createDrawer(drawingProgram, document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '');
const root = document.querySelector('#app');
if (root === null) throw new Error('The page has no element #app');
const host =
  globalThis.acquireVsCodeApi === undefined
    ? createDashboardHost(window)
    : createWebViewHost(window, globalThis.acquireVsCodeApi());
createRoot(root).render(<App host={host} />);
