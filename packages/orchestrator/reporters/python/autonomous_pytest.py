"""Reports the tests that pytest runs; it shares its process with the code under test."""
import builtins
import importlib
import os

import _pytest.assertion.rewrite
import _pytest.assertion.util
import _pytest.main
import _pytest.nodes
import _pytest.outcomes
import _pytest.python
import _pytest.python_api
import _pytest.recwarn
import _pytest.reports
import _pytest.runner
import _pytest.unittest
import pluggy
import pytest
import unittest.case
import unittest.result

from autonomous_report import Guard, Session, code_of, is_of_a_package, stands_where_it_says
from autonomous_unittest import failing_assertions_that_pass, look_around_tests

_guard = Guard()
look_around_tests(_guard)
_guard.watch(
    builtins, pytest, pluggy, _pytest.assertion.rewrite, _pytest.assertion.util, _pytest.main, _pytest.nodes,
    _pytest.outcomes, _pytest.python, _pytest.python_api, _pytest.recwarn, _pytest.reports, _pytest.runner,
    _pytest.unittest, unittest, unittest.case, unittest.result,
)
try:
    # Of pytest 8.4 and later.
    _guard.watch(importlib.import_module("_pytest.raises"))
except ImportError:
    pass
_session = None
_outcomes = {}
_expected_to_fail = {}
_root = ""


def _is_worker(config):
    return hasattr(config, "workerinput")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Before any code of the project: plugins of packages, of the command line and of the environment are there."""
    _find_hooks(early_config, lambda name, function: None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    global _session, _root
    _root = str(getattr(session.config, "rootpath", None) or getattr(session.config, "rootdir", ""))
    # A worker of pytest-xdist has the code under test; its controller is told of the tests.
    _session = Session("pytest worker" if _is_worker(session.config) else "pytest")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """All marks that a test has of its own are known, and no test has run."""
    for item in session.items:
        if _is_expected_to_fail(item):
            # Held, so that its id is not given to another.
            _expected_to_fail[id(item)] = item


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    made = yield
    # A worker of pytest-xdist sends it to its controller, which has no items.
    made.get_result().is_expected_to_fail = id(item) in _expected_to_fail


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if _session is None or _session.runner == "pytest worker":
        return
    if report.when == "teardown":
        outcome = _outcomes.pop(report.nodeid, None)
        if outcome is not None:
            file = report.nodeid.split("::")[0]
            _session.test(report.nodeid, "failed" if report.failed else outcome, file, os.path.join(_root, file))
        return
    if report.failed:
        _outcomes[report.nodeid] = "failed"
    elif report.when == "call" and report.passed:
        _outcomes[report.nodeid] = "passed"
    elif report.skipped:
        # A test that its own mark expects to fail ran, and failed as it should. Where the code under test says so, nothing is known.
        as_expected = hasattr(report, "wasxfail") and getattr(report, "is_expected_to_fail", False)
        _outcomes[report.nodeid] = "passed" if as_expected and report.when == "call" else "skipped"


def _is_expected_to_fail(item):
    """By a mark whose condition holds, or by unittest's decorator."""
    holders = (getattr(item, "obj", None), getattr(item, "cls", None))
    if any(getattr(holder, "__unittest_expecting_failure__", False) is True for holder in holders):
        return True
    if next(item.iter_markers("xfail"), None) is None:
        return False
    try:
        from _pytest.skipping import evaluate_xfail_marks
    except ImportError:
        # Before pytest 6.
        return True
    try:
        return evaluate_xfail_marks(item) is not None
    except BaseException:
        # A condition that cannot be evaluated fails the test itself.
        return False


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_pyfunc_call(pyfuncitem):
    """Right before and after the body of a test, inside of all fixtures."""
    _look(pyfuncitem.config)
    yield
    _look(pyfuncitem.config)


def _look(config):
    _guard.look()
    _find_hooks(config, _note_hook)


_known_hooks = {}


def _find_hooks(config, tell):
    """Tells of functions that take part in pytest's hooks and have not been told of before."""
    for name, caller in list(vars(config.pluginmanager.hook).items()):
        for implementation in getattr(caller, "get_hookimpls", list)():
            if id(implementation) not in _known_hooks:
                # Held, so that its id is not given to another.
                _known_hooks[id(implementation)] = implementation
                tell(name, implementation.function)


def _note_hook(name, function):
    code = code_of(function)
    file = "" if code is None else code.co_filename
    if is_of_a_package(function) or (os.path.basename(file) == "conftest.py" and stands_where_it_says(code)):
        return
    _guard.note("%s in %s" % (name, os.path.relpath(file) if file else "a plugin"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if _session is None:
        return
    _look(session.config)
    for what in _guard.changes() + failing_assertions_that_pass() + _reports_that_do_not_fail(session):
        _session.tampered(what)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    global _session
    if _session is not None:
        _session.end()
    _session = None


def _reports_that_do_not_fail(session):
    """Tries whether a call that fails is still reported as failed."""
    if not session.items:
        return []
    from _pytest.reports import TestReport
    from _pytest.runner import CallInfo

    def fails():
        assert [] == [1]

    try:
        call = CallInfo.from_call(fails, when="call")
        if call.excinfo is not None and TestReport.from_item_and_call(session.items[-1], call).outcome == "failed":
            return []
    except Exception:
        pass
    return ["pytest's report of a failed test"]
