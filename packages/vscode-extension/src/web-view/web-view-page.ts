/** The page of a web view, before anything is shown in it. */

export interface WebViewPageParts {
  /** Of this load: base64. */
  readonly nonce: string;
  /** Where the editor serves a web view's own files from, as a policy names it. */
  readonly cspSource: string;
  /** The address of a file of the screens. */
  readonly address: (file: string) => string;
}

/**
 * Returns the rights of a web view: it may run our script and read the files of the screens.
 * @param screens the folder that holds these and nothing else
 */
export function webViewOptions<Folder>(screens: Folder) {
  return {
    enableScripts: true,
    // Texts of agents may contain links; none of them may be a command of the editor.
    enableCommandUris: false,
    localResourceRoots: [screens],
  };
}

/**
 * Only the one script with this nonce runs, and what it hands to the frame that diagrams are drawn in. Nothing is fetched, and
 * what an agent wrote can embed nothing from elsewhere.
 */
export function webViewPage({ nonce, cspSource, address }: WebViewPageParts): string {
  const policy = [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    // Diagrams and components write style elements and attributes of their own.
    `style-src ${cspSource} 'unsafe-inline'`,
    `img-src ${cspSource} data:`,
    `font-src ${cspSource}`,
    `form-action 'none'`,
    `base-uri 'none'`,
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Autonomous</title>
<link rel="stylesheet" id="vscode-codicon-stylesheet" href="${address('codicon.css')}">
<link rel="stylesheet" href="${address('app.css')}">
</head>
<body>
<div id="app"></div>
<script type="module" nonce="${nonce}" src="${address('app.js')}"></script>
</body>
</html>`;
}
