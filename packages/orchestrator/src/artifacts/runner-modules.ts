/** Modules that a Python in the project's folder would find before the installed ones, and which a test runner uses. */

/** The standard library's, as far as runners and what they import use it; the runners' own and what they are made of. */
const NAMES = new Set(
  `__future__ _collections_abc _pytest _weakrefset abc argparse ast asyncio atexit attr attrs base64 binascii bisect builtins bz2
  calendar code codecs codeop collections colorama concurrent configparser contextlib contextvars copy copyreg coverage csv ctypes
  dataclasses datetime decimal difflib dis doctest email encodings enum errno exceptiongroup execnet faulthandler fnmatch functools
  gc genericpath getpass gettext glob gzip hashlib heapq hypothesis importlib iniconfig inspect io itertools json keyword linecache
  locale logging lzma marshal math mimetypes multiprocessing ntpath numbers opcode operator optparse os packaging pathlib pdb pickle
  pkgutil platform pluggy posixpath pprint py pygments pytest pytest_asyncio pytest_cov pytest_mock queue random re reprlib runpy
  select selectors shlex shutil signal site sitecustomize socket sre_compile sre_parse ssl stat statistics string stringprep struct
  subprocess symtable sys sysconfig tarfile tempfile textwrap threading time timeit token tokenize tomli tomllib trace traceback
  types typing typing_extensions unicodedata unittest urllib usercustomize uuid warnings weakref xdist xml zipfile zipimport zlib`.split(
    /\s+/,
  ),
);

/** A module by one of these names, where the project's folder or its source folder is looked into first. */
export function shadowsRunner(path: string): boolean {
  const [first = '', ...rest] = path.replace(/^(src|lib|python)\//, '').split('/');
  const name = rest.length === 0 ? /^(\w+)(?:[.][\w-]+)?[.](?:pyc?|so|pyd)$/.exec(first)?.[1] : first;
  return name !== undefined && NAMES.has(name) && (rest.length === 0 || /[.](pyc?|so|pyd)$/.test(path));
}
