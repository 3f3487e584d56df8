/** Decides whether a file that git takes for binary because of a NUL byte is text to the programs and people that read it. */
import binaryExtensions from 'binary-extensions';

const BINARY: ReadonlySet<string> = new Set(binaryExtensions);

/** Extensions of files that some program runs or reads as text: a NUL byte, or many, hide nothing in them. */
const SOURCE: ReadonlySet<string> = new Set(
  `js mjs cjs jsx ts mts cts tsx json jsonc json5 py pyi rb php pl pm lua tcl r jl sh bash zsh fish ksh ps1 psm1 bat cmd vbs go rs c h
  cc cpp cxx hh hpp cs fs vb java kt kts scala groovy gradle swift m mm ex exs erl hs ml clj dart zig nim sql html htm xhtml css scss
  sass less vue svelte astro xml svg yaml yml toml ini cfg conf env properties md mdx txt rst csv tsv tf hcl proto graphql nix mk cmake
  awk sed`.split(/\s+/),
);

/** Names of such files without an extension. */
const SOURCE_NAMES =
  `makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile gemfile rakefile guardfile capfile podfile
  fastfile brewfile procfile justfile earthfile tiltfile build workspace configure gradlew mvnw`.split(/\s+/);

/** Git attributes that make git treat source files as text: it prints and counts their lines, whatever their content. */
export const SOURCE_AS_TEXT = [...[...SOURCE].map((extension) => `*.${extension}`), ...SOURCE_NAMES]
  .map((pattern) => `${pattern.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)} diff\n`)
  .join('');

/** Share of readable characters from which a file with a binary file's name, or without a known one, is text. */
const READABLE = { binaryName: 0.9, otherName: 0.3 };

/** @param content of at most a few megabytes */
export function isText(path: string, content: Buffer): boolean {
  if (isSource(path)) return true;
  if (isKnownBinary(path)) return readableShare(content) >= READABLE.binaryName;
  return content.subarray(0, 2).toString('latin1') === '#!' || readableShare(content) >= READABLE.otherName;
}

/** Whether the name alone says that the file is source code. */
export function isSource(path: string): boolean {
  const extension = extensionOf(path);
  if (extension !== null) return SOURCE.has(extension);
  return SOURCE_NAMES.includes(path.slice(path.lastIndexOf('/') + 1).toLowerCase());
}

/** Whether the name is one of a kind of binary file that is known. */
export function isKnownBinary(path: string): boolean {
  const extension = extensionOf(path);
  return extension !== null && BINARY.has(extension);
}

function extensionOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot === -1 ? null : name.slice(dot + 1).toLowerCase();
}

/** Share of readable characters in a content as UTF-8: neither control characters nor invalid bytes. */
function readableShare(content: Buffer): number {
  const text = content.toString('utf8');
  let odd = 0;
  for (let index = 0; index < text.length; index++) if (isOdd(text.charCodeAt(index))) odd += 1;
  return text.length === 0 ? 1 : 1 - odd / text.length;
}

function isOdd(code: number): boolean {
  const isLayout = code === 9 || code === 10 || code === 13;
  return (code < 32 && !isLayout) || code === 127 || code === 0xfffd;
}
