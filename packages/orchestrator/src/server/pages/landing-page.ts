/** Pages that the server has without the dashboard, such as the one at `/` that states that it runs and how to sign in. */
import { startCommand } from '../start-command.ts';

/** For every page and answer: nothing is loaded from anywhere, and no other page may frame it. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** @param isSignedIn whether the browser's session is valid */
export function landingPage(isSignedIn: boolean): string {
  return page(
    'Autonomous is running',
    `<p class="lead">Agents plan, you decide, agents build – and this server remembers every step.</p>
    <p class="state ${isSignedIn ? 'in' : 'out'}">${
      isSignedIn ? 'This browser is signed in.' : `This browser is not signed in: ${signInWay()}.`
    }</p>
    <p>Its dashboard was not built: <code>npm run build</code> does that, and <code>npm start</code> by itself.</p>
    <h2>Open it</h2>
    <dl>
      <div><dt>Start a run</dt><dd><code>${startCommand().program} run "Add a login page"</code> in the server’s folder, with <code>--project</code> and the path of your repository.</dd></div>
      <div><dt>Follow it</dt><dd><code>${startCommand().program} watch</code> follows the newest run, <code>gates</code> lists what waits for you.</dd></div>
      <div><dt>HTTP</dt><dd>The API describes itself in <a href="/api/openapi.json">its OpenAPI document</a> (signed in, or with the token).</dd></div>
    </dl>`,
  );
}

/** Shown to a browser without a session at an address that no page has, or whose content needs one. */
export function signInPage(): string {
  return page(
    'This browser is not signed in',
    `<p class="lead">To see what is at this address, ${signInWay()}. <a href="/">The first page</a> is open to everybody.</p>`,
  );
}

function signInWay(): string {
  return `open the link that the server printed when it started, or get another one with ${signInCommand()}`;
}

/** Where the server has a data folder of its own, the command finds it by the same variable. The page is open to everybody and does not name it. */
function signInCommand(): string {
  return `<code>${startCommand().program} sign-in</code>, with the server’s <code>AUTONOMOUS_DATA</code> if it has one`;
}

/** Shown when a sign-in link cannot be used. */
export function spentLinkPage(): string {
  return page(
    'This link does not sign in',
    `<p class="lead">It was used, is older than ten minutes, was cut off while it was copied, is from before a restart, or is the link of another server. For a new one: ${signInCommand()}.</p>`,
  );
}

/** Shown to a browser at an address that no page has. */
export function missingPage(): string {
  return page(
    'There is no such page',
    '<p class="lead">Its address may have been cut off on the way. <a href="/">All runs</a> are on the first page.</p>',
  );
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='6' fill='none' stroke='%233b6ef6' stroke-width='2.5'/%3E%3Ccircle cx='8' cy='8' r='2' fill='%233b6ef6'/%3E%3C/svg%3E">
<style>
:root { color-scheme: light dark; --ink: #1b1f27; --quiet: #5a6372; --paper: #fbfbfd; --card: #fff; --line: #e2e5ec; --accent: #2f62ea; --good: #1d7a45; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaf0; --quiet: #9aa3b2; --paper: #14161b; --card: #1c1f26; --line: #2d323d; --accent: #8aa9ff; --good: #6fce97; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 2rem 1.25rem; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { width: min(40rem, 100%); padding: clamp(1.5rem, 5vw, 3rem); background: var(--card); border: 1px solid var(--line); border-radius: 14px; }
h1 { margin: 0 0 .5rem; font-size: 1.6rem; line-height: 1.25; letter-spacing: -.01em; }
h2 { margin: 2rem 0 .5rem; font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; color: var(--quiet); }
.lead { margin: 0; color: var(--quiet); }
.state { margin: 1.25rem 0 0; padding-left: .9rem; border-left: 3px solid var(--line); }
.state.in { border-color: var(--good); }
.state.out { border-color: var(--accent); }
dl { margin: 0; }
dl div { display: grid; grid-template-columns: 8.5rem 1fr; gap: .25rem 1rem; padding: .7rem 0; border-top: 1px solid var(--line); }
dt { font-weight: 600; }
dd { margin: 0; }
code { padding: .1em .35em; border-radius: 5px; background: color-mix(in srgb, var(--ink) 8%, transparent); font: .9em ui-monospace, monospace; }
a { color: var(--accent); }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 30rem) { dl div { grid-template-columns: 1fr; } }
</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}
