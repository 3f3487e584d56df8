/** Modules that a Python in the project's folder would find before the installed ones, and which a test runner uses. */

/** The standard library's, without those that no runner comes to and that products like to be named by. */
const STANDARD = `__future__ _abc _aix_support _ast _asyncio _bisect _blake2 _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022
  _codecs_jp _codecs_kr _codecs_tw _collections _collections_abc _compat_pickle _compression _contextvars _crypt _csv _ctypes
  _curses _curses_panel _datetime _dbm _decimal _elementtree _frozen_importlib _frozen_importlib_external _functools _gdbm
  _hashlib _heapq _imp _io _json _locale _lsprof _lzma _markupbase _md5 _msi _multibytecodec _multiprocessing _opcode _operator
  _osx_support _overlapped _pickle _posixshmem _posixsubprocess _py_abc _pydecimal _pyio _queue _random _scproxy _sha1 _sha256
  _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct _symtable _thread
  _threading_local _tkinter _tokenize _tracemalloc _typing _uuid _warnings _weakref _weakrefset _winapi _zoneinfo abc
  annotationlib argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 cProfile
  calendar cmath cmd code codecs codeop collections compileall compression concurrent configparser contextlib contextvars copy
  copyreg csv ctypes dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
  faulthandler fcntl filecmp fileinput fnmatch fractions functools gc genericpath getopt getpass gettext glob grp gzip hashlib
  heapq hmac http imp importlib inspect io ipaddress itertools json keyword linecache locale logging lzma marshal math mimetypes
  mmap modulefinder msvcrt multiprocessing netrc nt ntpath nturl2path numbers opcode operator optparse os pathlib pdb pickle
  pickletools pkgutil platform plistlib posix posixpath pprint pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue
  quopri random re readline reprlib rlcompleter runpy select selectors shelve shlex shutil signal site socket socketserver spwd
  sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess symtable sys sysconfig
  syslog tabnanny tarfile tempfile termios textwrap threading time timeit token tokenize tomllib trace traceback tracemalloc tty
  types typing unicodedata unittest urllib uu uuid venv warnings weakref winreg winsound wsgiref xml xmlrpc zipapp zipfile
  zipimport zlib zoneinfo`;
/** The runners' own, and what they are made of. */
const RUNNERS = `_pytest attr attrs colorama coverage exceptiongroup execnet hypothesis iniconfig packaging pluggy py pygments pytest
  pytest_asyncio pytest_cov pytest_mock sitecustomize tomli typing_extensions usercustomize xdist`;
const NAMES = new Set(`${STANDARD} ${RUNNERS}`.split(/\s+/));

/** A module by one of these names, where the project's folder or its source folder is looked into first. */
export function shadowsRunner(path: string): boolean {
  const [first = '', ...rest] = path.replace(/^(src|lib|python)\//, '').split('/');
  const name = rest.length === 0 ? /^(\w+)(?:[.][\w-]+)?[.](?:pyc?|so|pyd)$/.exec(first)?.[1] : first;
  return name !== undefined && NAMES.has(name) && (rest.length === 0 || /[.](pyc?|so|pyd)$/.test(path));
}
