"""Writes what a test runner says of its tests into the report of the check, one JSON object a line."""
import builtins
import json
import os
import sys

_FILE = os.environ.get("AUTONOMOUS_TEST_REPORT")
# The folder that the check began in: a runner may be started in a folder below.
_ROOT = os.path.realpath(os.environ.get("AUTONOMOUS_TEST_ROOT") or os.getcwd())
# As they were before any code of the project ran.
_open, _write, _close, _dumps, _pid = os.open, os.write, os.close, json.dumps, os.getpid
_relpath, _realpath = os.path.relpath, os.path.realpath
_sessions = 0


class Session:
    """A run of a runner, from its start to its end; one that does not come to its end did not finish."""

    def __init__(self, runner):
        global _sessions
        _sessions += 1
        self._run = "py%d.%d" % (_pid(), _sessions)
        self.runner = runner
        self._files = set()
        self._record({"event": "start"})

    def test(self, name, outcome, file="", at=""):
        """`at` is the absolute path of the file that holds the test, where that is known."""
        if at and at not in self._files:
            self._files.add(at)
            self._record({"event": "file", "path": _relpath(_realpath(at), _ROOT)})
        self._record({"event": "test", "name": name, "file": file, "outcome": outcome})

    def tampered(self, what):
        self._record({"event": "tampered", "what": what})

    def end(self):
        self._record({"event": "end"})

    def _record(self, entry):
        if not _FILE:
            return
        try:
            line = _dumps(dict({"run": self._run, "runner": self.runner}, **entry)) + "\n"
            file = _open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                _write(file, line.encode("utf-8", "replace"))
            finally:
                _close(file)
        except OSError:
            # A report that cannot be written is one without an end: a person is told.
            pass


class Guard:
    """Notices functions of a runner that code under test has put others in the place of.

    It looks whenever it is asked to and keeps what it found: what is changed for the time of a test and put back is seen then.
    """

    def __init__(self):
        self._seen = []
        self._keys = []
        self._modules = {}
        self._own = set()
        self._finders = list(sys.meta_path)
        self._found = {}

    def watch(self, *modules):
        for module in modules:
            if module.__name__ in self._modules:
                continue
            self._modules[module.__name__] = module
            self._watch(module.__name__, module)
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    self._watch("%s.%s" % (module.__name__, name), value)
                    self._keys.append(("%s.%s" % (module.__name__, name), value, frozenset(vars(value))))

    def note(self, what):
        self._found[what] = True

    def _watch(self, name, holder):
        for key, value in list(vars(holder).items()):
            if holder is builtins and key in _DOUBLED:
                continue
            if callable(value) or isinstance(value, _DESCRIPTORS):
                self._seen.append((vars(holder).get, key, value, name))
                self._own.add(id(value))

    def look(self):
        for get, key, value, name in self._seen:
            if get(key) is not value and not self._is_of_a_plugin(get(key)):
                self.note("%s.%s" % (name, key))
        for name, holder, keys in self._keys:
            # A new key can stand before what the class inherits, or decide about all its attributes.
            if vars(holder).keys() <= keys:
                continue
            for key in vars(holder).keys() - keys:
                value = vars(holder).get(key)
                if (callable(value) or isinstance(value, _DESCRIPTORS)) and not self._is_of_a_plugin(value):
                    self.note("%s.%s" % (name, key))
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                self.note(name)
        for finder in sys.meta_path:
            if not any(finder is each for each in self._finders) and not is_of_a_package(
                getattr(finder, "find_spec", None)
            ):
                self.note("sys.meta_path")
        for what in ("gettrace", "getprofile"):
            tracer = getattr(sys, what)()
            if tracer is not None and not is_of_a_package(tracer):
                self.note("sys.%s" % what.replace("get", "set"))

    def changes(self):
        """Names what was changed at any look, the last one being now."""
        self.look()
        return list(self._found)

    def _is_of_a_plugin(self, value):
        """A plugin of a runner changes it as well, and puts in functions of its own."""
        return id(value) not in self._own and is_of_a_package(value)


_DESCRIPTORS = (property, staticmethod, classmethod)
# Fixtures put doubles in their place.
_DOUBLED = {"__build_class__", "__import__", "breakpoint", "exit", "help", "input", "open", "print", "quit"}


def is_of_a_package(value):
    """Whether a function comes from where packages are installed, as plugins of a runner do, and from where it says."""
    if isinstance(value, property):
        return all(is_of_a_package(each) for each in (value.fget, value.fset, value.fdel) if each is not None)
    code = code_of(value)
    if code is not None:
        return _is_installed(code.co_filename) and stands_where_it_says(code)
    # Compiled, or an object that can be called, such as the tracer of coverage.
    kind = value if isinstance(value, type) else type(value)
    return _is_installed(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def code_of(function):
    """The code of a function or method that is written in Python, or None."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, type(is_of_a_package.__code__)) else None


def stands_where_it_says(code):
    """Whether its file has such a function on that line: code can be compiled under any name of a file."""
    import linecache

    line = linecache.getline(code.co_filename, code.co_firstlineno)
    return code.co_name in line or "lambda" in line or line.lstrip().startswith("@")


def _is_installed(file):
    return "site-packages" in file or "dist-packages" in file
