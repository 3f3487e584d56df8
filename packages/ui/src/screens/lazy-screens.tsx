/** The screens beside the list of runs, with what only they need. */
import '../components/more-elements.ts';
import { DEFAULT_METRICS_DAYS, type Screen } from '../bridge.ts';
import { DrawerProvider } from '../components/diagram/diagram.tsx';
// oxlint-disable-next-line import/default -- build.mjs makes it: the program of that file, as one text
import drawingProgram from '../components/diagram/drawing-frame.ts?program';
import { createDrawer, openDrawingFrame } from '../components/diagram/drawing.ts';
import { createPdfOpener } from '../components/pdf/pdf-drawer.ts';
// oxlint-disable-next-line import/default -- build.mjs makes it, as the one above
import pdfProgram from '../components/pdf/pdf-frame.ts?program';
import { PdfOpenerProvider } from '../components/pdf/pdf.tsx';
import { Exploration } from './compare/exploration.tsx';
import { Launch } from './launch/launch.tsx';
import { Metrics } from './metrics.tsx';
import { Roadmap } from './roadmap/roadmap.tsx';
import { RunPage } from './run/run-page.tsx';
import { Setup } from './setup.tsx';
import { SignIn } from './sign-in.tsx';

export type OtherScreen = Exclude<Screen, { readonly name: 'runs' }>;

// The page lets nothing run but what bears its nonce, which the scripts that run here do.
const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
const drawer = createDrawer(() => openDrawingFrame(drawingProgram, nonce));
const openPdf = createPdfOpener(pdfProgram, nonce);

export function Others({ screen }: { readonly screen: OtherScreen | 'sign-in' }) {
  if (screen === 'sign-in') return <SignIn />;
  return (
    <DrawerProvider value={drawer}>
      <PdfOpenerProvider value={openPdf}>
        <ScreenOf screen={screen} />
      </PdfOpenerProvider>
    </DrawerProvider>
  );
}

function ScreenOf({ screen }: { readonly screen: OtherScreen }) {
  switch (screen.name) {
    case 'run':
      return <RunPage key={screen.runId} screen={screen} />;
    case 'exploration':
      return <Exploration key={screen.explorationId} explorationId={screen.explorationId} />;
    case 'launch':
      return <Launch />;
    case 'setup':
      return <Setup />;
    case 'metrics':
      return (
        <Metrics days={screen.days ?? DEFAULT_METRICS_DAYS} projectId={screen.projectId} workflow={screen.workflow} />
      );
    case 'roadmap':
      return <Roadmap projectId={screen.projectId} item={screen.item} />;
    default:
      return screen satisfies never;
  }
}
