/** What strangers write where a person reads it: markup, links to commands, a terminal's colours, marks that turn letters round. */

const LINK = '[x](command:workbench.action.terminal.new)';

/** The request of a run, which is its title. */
export const TITLE = `[Run](command:workbench.action.terminal.new) <script>top.PWN='run'</script>"><img src=x onerror="top.PWN=1"> [x](javascript:top.PWN=2) {{7*7}} \${7*7}`;

/** A person's, as an account of a later edition may have it. */
export const NAME = `\u001b[31mada\u202e</strong><img src=x onerror=top.PWN='name'> ${LINK} $(verified)`;
export const NAME_SHOWN = shown(NAME);

/** The body of an answer with which a provider refuses. */
export const MODEL_ERROR = `<script>top.PWN='error'</script>"><img src=x onerror=top.PWN=8> ${LINK} \u001b[31mred\u001b[0m\u202e {{7*7}} $(verified)`;
export const MODEL_ERROR_SHOWN = shown(MODEL_ERROR);

export const SUBJECT = `<script>top.PWN='subject'</script>"><img src=x onerror=top.PWN=9> ${LINK} \u001b[31m\u2067 {{7*7}} $(verified)`;
export const SUBJECT_SHOWN = shown(SUBJECT);
/** Git itself takes `<` and `>` away, and what a name cannot begin or end with. */
export const AUTHOR = `ada"onload="top.PWN=10" ${LINK} \u202eada`;
export const AUTHOR_SHOWN = shown(AUTHOR);

function shown(words: string): string {
  return words
    .replaceAll(/\u001b\[\d*m/g, '')
    .replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (mark) => `⟨U+${mark.charCodeAt(0).toString(16).toUpperCase()}⟩`)
    .trim();
}
