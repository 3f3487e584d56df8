/** The screens, in whichever host they are: which one is shown, and how the connection is. */
import { useSelector } from '@xstate/store-react';
import { lazy, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import './components/elements.ts';
import { pollingNews, RESUMING } from './connection-news.ts';
import { createDashboardHost } from './hosts/dashboard-host.ts';
import { type Host, HostProvider, useHost } from './hosts/host.ts';
import { createWebViewHost, type WebViewApi } from './hosts/web-view-host.ts';
import { Icon } from './components/icon.tsx';
import type { Screen } from './bridge.ts';
import { Link } from './components/link.tsx';
import { LoadFailure } from './components/load-failure.tsx';
import { useLoaded } from './components/loading.tsx';
import type { OtherScreen } from './screens/lazy-screens.tsx';
import { RunList } from './screens/run/run-list.tsx';

/** Code of the other screens is a second file, because most openings are of the list. */
const loadOthers = () => import('./screens/lazy-screens.tsx');
const Others = lazy(async () => ({ default: (await loadOthers()).Others }));

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
  const { place, signOut } = useHost();
  const screen = useSelector(place, ({ context }) => context.screen.name);
  const signedIn = useSelector(place, ({ context }) => context.signedIn);
  return (
    <header className="banner">
      <a className="skip" href="#main">
        To the content
      </a>
      <Link to={{ name: 'runs' }} className="brand" current={screen === 'runs'}>
        Autonomous
      </Link>
      <nav aria-label="Screens">
        <Link to={{ name: 'roadmap' }} current={screen === 'roadmap'}>
          Roadmap
        </Link>
        <Link to={{ name: 'metrics' }} current={screen === 'metrics'}>
          Metrics
        </Link>
        <Link to={{ name: 'setup' }} current={screen === 'setup'}>
          Setup
        </Link>
      </nav>
      {signOut !== undefined && signedIn === true && (
        <button type="button" className="link sign-out" onClick={signOut}>
          Sign out
        </button>
      )}
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
          <Icon name={isAtWork ? 'sync' : 'debug-disconnect'} /> {news}
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
  if (signedIn === 'unknown') return null;
  if (signedIn && screen.name === 'runs') return <Home />;
  return <Other screen={signedIn && screen.name !== 'runs' ? screen : 'sign-in'} of={screen} />;
}

/** The runs; on a server without any run and model, where to give it one. */
function Home() {
  const { setup, runs } = useHost();
  const isEmpty = useSelector(runs, ({ context }) => Object.keys(context.runs).length === 0);
  const connection = useSelector(runs, ({ context }) => context.connection.state);
  const isNew = isEmpty && setup !== undefined && (connection === 'live' || connection === 'polling');
  const found = useLoaded(isNew ? 'setup' : null, async () => setup?.getSetup());
  if (isNew && found.value?.isReady === false) return <Other screen={{ name: 'setup' }} of={{ name: 'runs' }} />;
  return <RunList />;
}

/** @param of the screen of the address */
function Other({ screen, of }: { readonly screen: OtherScreen | 'sign-in'; readonly of: Screen }) {
  return (
    <LoadFailure of={of}>
      <Suspense fallback={<p className="empty late">Fetching the screen…</p>}>
        <Others screen={screen} />
      </Suspense>
    </LoadFailure>
  );
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
// Before it is wanted, and before a newer server no longer has it. A failure is told where it is wanted.
const whenIdle = globalThis.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 2_000));
whenIdle(() => void loadOthers().catch(() => undefined));
