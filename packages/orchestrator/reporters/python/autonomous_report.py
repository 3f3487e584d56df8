"""Writes what a test runner says of its tests into the report of the check, one JSON object a line."""
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
    """Notices functions of a runner that code under test has put others in the place of."""

    def __init__(self):
        self._seen = []
        self._modules = set()

    def watch(self, *modules):
        for module in modules:
            if module.__name__ in self._modules:
                continue
            self._modules.add(module.__name__)
            self._watch(module.__name__, module)
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    self._watch("%s.%s" % (module.__name__, name), value)

    def _watch(self, name, holder):
        for key, value in list(vars(holder).items()):
            if callable(value) or isinstance(value, (property, staticmethod, classmethod)):
                self._seen.append((name, holder, key, value))

    def changes(self):
        found = []
        for name, holder, key, value in self._seen:
            now = vars(holder).get(key)
            if now is not value and not _is_of_a_package(now):
                found.append("%s.%s" % (name, key))
        return found


def _is_of_a_package(value):
    """Plugins of a runner change it as well: what they put in comes from where packages are installed."""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    file = getattr(code, "co_filename", "")
    return "site-packages" in file or "dist-packages" in file or file.startswith(sys.base_prefix + "/lib")
