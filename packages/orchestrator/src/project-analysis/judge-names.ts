/**
 * Changed code that is no test and that newly names what judges tests: a test runner, its assertions and hooks, or a way to get
 * at functions that are built in. Code under test runs in the process of its judge and can change it there for the time of a test;
 * ordinary product code has no use for these names. Read from words, not understood: a reason for a person to look. Pure.
 */
import { isTestConfiguration, isTestPath } from './project-commands.ts';
import { hasRunnerSections } from './runner-sections.ts';

/** A file of a result; `null` where it is not there. */
export interface ComparedText {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface NamedJudges {
  readonly path: string;
  /** As they are told to a person, in the order of the table; never empty. */
  readonly names: readonly string[];
}

type Language = 'node' | 'python' | 'go' | 'rust';

const ENDINGS: Readonly<Record<string, readonly Language[]>> = {
  ...Object.fromEntries(
    ['js', 'mjs', 'cjs', 'jsx', 'ts', 'mts', 'cts', 'tsx', 'vue', 'svelte', 'astro'].map((each) => [each, ['node']]),
  ),
  py: ['python'],
  pyw: ['python'],
  pyx: ['python'],
  go: ['go'],
  rs: ['rust'],
};
/** Loaded like the code around it, and not readable. */
const COMPILED = /[.](?:node|so|pyd|pyc|dylib|dll|wasm)$/i;

const OWN_BUILTINS = new Set(
  'Object Reflect Function Array String Number Boolean Symbol Promise Error RegExp Map Set WeakMap JSON Math Proxy'.split(
    ' ',
  ),
);

/** Each with the name in its first group, or with words of its own. */
const TABLE: Readonly<Record<Language, readonly (readonly [RegExp, string?])[]>> = {
  node: [
    // Packages that run tests, judge them, or put others in the place of what modules load: as a word of its own in quotes, which
    // may be given to `import`, to `require` or by way of a variable.
    [
      /['"`](node:test|bun:test|vitest|jest|mocha|chai|jasmine-core|sinon|power-assert|expect[.]js|@playwright\/test)(?:\/[\w./-]{1,80})?['"`]/g,
    ],
    [
      /['"`](testdouble|proxyquire|rewiremock|mock-require|require-in-the-middle|import-in-the-middle|esmock|quibble)['"`]/g,
    ],
    [/['"`]((?:@jest\/|@vitest\/|chai-|sinon-|jest-environment-)[\w-]{1,40})(?:\/[\w./-]{1,80})?['"`]/g],
    [
      /['"`](jest-(?:circus|jasmine2|mock|runtime|runner|matcher-utils|environment|extended))(?:\/[\w./-]{1,80})?['"`]/g,
    ],
    // Those whose names are words of other things too.
    [
      /(?:\bfrom|\bimport|\brequire|\))\s{0,9}\(?\s{0,9}['"`](ava|tap|tape|uvu|jasmine|should|expect|must|rewire|mockery|pirates)(?:\/[\w./-]{1,80})?['"`]/g,
    ],
    [/\b(import\.meta\.vitest)\b/g],
    [/(?<![\w$.])(beforeEach|afterEach|beforeAll|afterAll)\s{0,9}\(/g],
    [
      /\b(?:globalThis|global|window|self)(?:\?\.|[.])(expect|jest|vi|vitest|mocha|jasmine|describe|it|test|assert|beforeEach|afterEach|beforeAll|afterAll)(?![\w$])/g,
    ],
    [
      /\b(?:globalThis|global|window|self)(?:\?\.)?\[['"`](expect|jest|vi|vitest|mocha|jasmine|describe|it|test|assert|beforeEach|afterEach|beforeAll|afterAll)['"`]/g,
    ],
    [/(?<![\w$.])((?:jest|vi)[.](?:fn|mock|doMock|spyOn|setMock|unstable_mockModule|hoisted|stubGlobal))\b/g],
    [/\b(expect\s{0,9}[.]\s{0,9}(?:extend|addEqualityTesters|addSnapshotSerializer|setState))\b/g],
    [/\b(assert[.]register)\b/g],
    [/\b(mock[.](?:method|module))\b/g],
    [
      /(?<![\w$.])((?:assert|expect|chai|should)(?:[.][\w$]{1,60}|\[[^\]\n]{1,80}\]){1,3})\s{0,9}=(?![=>])/g,
      'an assignment to assertions',
    ],
    [
      /\b(?:Object|Reflect)[.](?:assign|defineProperty|defineProperties|setPrototypeOf|set)\s{0,9}\(\s{0,99}(?:assert|expect|chai|should)\b/g,
      'an assignment to assertions',
    ],
    [/\b(getBuiltinModule)\b/g],
    [/\b(process[.]binding)\b/g],
    [/\b(Module[.](?:_load|_resolveFilename|_extensions|_cache|_compile|prototype))\b/g],
    [/(?<=[.['"`])(_load|_resolveFilename)\b/g],
    [/\b(registerHooks|syncBuiltinESMExports)\b/g],
    [/\b(require[.](?:cache|extensions))\b/g],
    [/(?:from|require\()\s{0,9}['"`](?:node:)?(inspector)(?:\/promises)?['"`]/g],
    [/\b(getOwnPropertySymbols)\s{0,9}\(\s{0,9}(?:globalThis|global|window|self)\b/g],
    [/\b(JEST_[A-Z_]{1,60}|VITEST_[A-Z_]{1,60}|NODE_TEST_[A-Z_]{1,60}|AUTONOMOUS_TEST_REPORT|autonomous[.]guard)\b/g],
    [/\b(currentlyRunningTest|__vitest_[a-z_]{1,40}|currentTest)\b/g],
    [
      /\bObject[.](?:assign|defineProperty|defineProperties)\s{0,9}\(\s{0,9}(?:globalThis[.])?(?:Object|Reflect|Function|Array|String|Number|Promise|Error|RegExp|Map|Set|JSON|Math)(?:[.]prototype)?\s{0,9},/g,
      'an assignment to what is built in',
    ],
  ],
  python: [
    [
      /(?:^|\n|;|:)[ \t]{0,40}(?:import|from)[ \t]{1,9}(?:[\w., \t]{0,200}[ \t,])?(_?pytest|unittest|pluggy|nose2?|doctest|hypothesis|_pytest|xdist|testtools|nose)\b/g,
    ],
    [/['"](_?pytest|unittest|pluggy|nose2?)(?:[.][\w.]{1,60})?['"]/g],
    [/\bdef (pytest_\w{1,60})\b/g],
    [/\b(gc[.](?:get_objects|get_referrers|get_referents)|get_objects|get_referrers)\b/g],
    [/\b(sys[.]modules)\b(?!\s{0,9}\[\s{0,9}__name__)/g],
    [/\b(sys[.]_getframe|_getframe|_current_frames)\b/g],
    [/\b(f_back|f_locals|tb_frame|gi_frame|cr_frame|ag_frame)\b/g],
    [/\b(inspect[.](?:currentframe|stack|trace|getouterframes))\b/g],
    [/\b((?:sys|threading)[.](?:settrace|setprofile|monitoring)|settrace|setprofile)\b/g],
    [/(?:^|\n|;|:)[ \t]{0,40}(?:import|from)[ \t]{1,9}(ctypes|builtins|_testcapi)\b/g],
    [/\b(__builtins__|__subclasses__)\b/g],
    [/\b(sys[.](?:meta_path|path_hooks|path_importer_cache|addaudithook))\b/g],
    [/\b(__getattribute__\s{0,9}=(?!=))/g, 'an assignment to __getattribute__'],
    [/\b(PYTEST_[A-Z_]{1,40}|AUTONOMOUS_TEST_REPORT|autonomous_(?:pytest|unittest|report))\b/g],
    [/\b(PytestPluginManager|TestCase|TextTestRunner|AssertionError\s{0,9}=(?!=))/g],
  ],
  go: [
    [/^\s{0,9}(?:import\s{1,9})?(?:[\w.]{1,40}\s{1,9})?"(testing|testing\/[\w/]{1,40})"/gm],
    [/^\/\/(go:linkname)\b/gm],
    // Of a package's own, in the place of what is predeclared: tests lie in the same package.
    [
      /^(?:func|var|const|type)\s{1,9}(true|false|nil|len|cap|copy|append|panic|recover|error|string|bool|byte|rune|u?int(?:8|16|32|64)?|float(?:32|64))\b/gm,
    ],
    [/(?<![\w.])(true|false|nil)\s{0,9}(?:bool\s{0,9})?=(?!=)/g],
    [/\b(AUTONOMOUS_TEST_REPORT)\b/g],
  ],
  rust: [
    // A macro of one's own under the name of an assertion applies to the tests of all modules below.
    [/\bmacro_rules!\s{0,9}((?:debug_)?assert(?:_eq|_ne)?|panic|unreachable|matches)\b/g],
    [/\b((?:debug_)?assert_(?:eq|ne))\b(?!\s{0,9}!)/g],
    [/\bas\s{1,9}(assert|panic)\b/g],
    [/\bextern\s{1,9}crate\s{1,9}\w{1,60}\s{1,9}as\s{1,9}(std|core|alloc)\b/g],
    // Code that is another one while it is tested.
    [/\b(cfg!\s{0,9}\(\s{0,9}(?:not\s{0,9}\(\s{0,9})?test)\b/g, 'cfg!(test)'],
    [/#!?\[\s{0,9}cfg\s{0,9}\(\s{0,9}(not\s{0,9}\(\s{0,9}test)\b/g, 'cfg(not(test))'],
    [/\b(link_section)\b/g],
    [/\b(RUST_TEST_[A-Z_]{1,40}|AUTONOMOUS_TEST_REPORT)\b/g],
  ],
};

/** Rust crates that exist to replace the assertions of tests by ones with better messages. */
const ASSERTION_CRATES = /\buse\s{1,9}(?:pretty_assertions|similar_asserts)::[\w{}, \n]{1,200};/g;

/** `Array.prototype.at = …`: the object and the key. */
const ASSIGNED_BUILTIN =
  /(?<![\w$.])(?:(?:globalThis|global|window|self)[.])?([A-Z][A-Za-z]{2,10})([.]prototype)?(?:[.]([\w$]{1,60})|\[\s{0,9}['"`]([\w$]{1,60})['"`]\s{0,9}\])\s{0,9}=(?![=>])/g;

/** May code under test load this file, and is it none that the checks with the base's tests put back? */
export function mayNameJudges(path: string): boolean {
  return (
    !isTestPath(path) &&
    !isTestConfiguration(path) &&
    !hasRunnerSections(path) &&
    !path.startsWith('.autonomous/') &&
    (COMPILED.test(path) || languagesOf(path).length > 0)
  );
}

/** Files that name a judge which they did not name before; a file that was only moved names nothing new. */
export function judgesNewlyNamed(changed: readonly ComparedText[]): readonly NamedJudges[] {
  const gone = changed.filter(({ after }) => after === null);
  return changed.flatMap(({ path, before, after }) => {
    if (after === null || !mayNameJudges(path)) return [];
    if (COMPILED.test(path)) return before === after ? [] : [{ path, names: ['compiled code'] }];
    const moved = before === null ? gone.filter((each) => fileName(each.path) === fileName(path)) : [];
    const known = new Set([before, ...moved.map((each) => each.before)].flatMap((text) => namesIn(path, text ?? '')));
    const names = namesIn(path, after).filter((name) => !known.has(name));
    return names.length === 0 ? [] : [{ path, names }];
  });
}

function namesIn(path: string, text: string): readonly string[] {
  const languages = languagesOf(path);
  const read = plain(text, languages);
  const found = languages.flatMap((language) =>
    TABLE[language].flatMap(([pattern, words]) =>
      [...read.matchAll(pattern)].map((match) => words ?? (match[1] ?? '').replace(/\s/g, '')),
    ),
  );
  if (languages.includes('node')) found.push(...assignedBuiltins(read));
  return [...new Set(found)];
}

/** Of keys that are built in; a new one, such as `toJSON`, is nobody's judge. */
function assignedBuiltins(text: string): readonly string[] {
  return [...text.matchAll(ASSIGNED_BUILTIN)].flatMap(([, name = '', prototype, dotted, quoted]) => {
    const key = dotted ?? quoted ?? '';
    if (name === 'Error' && ['stackTraceLimit', 'prepareStackTrace'].includes(key)) return [];
    if (!OWN_BUILTINS.has(name)) return [];
    const owner = (globalThis as Readonly<Record<string, unknown>>)[name] as { readonly prototype?: object } & object;
    const holder = prototype === undefined ? owner : owner.prototype;
    return holder !== undefined && key in holder ? [`${name}${prototype ?? ''}.${key} =`] : [];
  });
}

/** Without lines that are a comment alone, with escapes and joined literals as they are read. */
function plain(text: string, languages: readonly Language[]): string {
  const hasSlashes = languages.includes('node') || languages.includes('rust');
  const comment = hasSlashes ? /^[ \t]{0,200}\/\/.*$/gm : languages.includes('python') ? /^[ \t]{0,200}#.*$/gm : null;
  const bare = comment === null ? text : text.replace(comment, '');
  const code = languages.includes('rust') ? bare.replace(ASSERTION_CRATES, '') : bare;
  if (!code.includes('\\') && !/['"`]\s{0,9}\+/.test(code)) return code;
  return code
    .replace(/\\u\{?([0-9a-f]{4})\}?|\\x([0-9a-f]{2})/gi, (_, four: string | undefined, two: string | undefined) =>
      String.fromCharCode(Number.parseInt(four ?? two ?? '', 16)),
    )
    .replace(/['"`]\s{0,9}\+\s{0,9}['"`]/g, '');
}

function languagesOf(path: string): readonly Language[] {
  const file = fileName(path);
  const dot = file.lastIndexOf('.');
  if (dot > 0) return ENDINGS[file.slice(dot + 1).toLowerCase()] ?? [];
  // A command without an ending may be either.
  return /^[a-z][\w-]*$/.test(file) ? ['node', 'python'] : [];
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
