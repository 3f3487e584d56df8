"""Reports the tests that pytest runs; it shares its process with the code under test."""
import os

import _pytest.main
import _pytest.nodes
import _pytest.outcomes
import _pytest.python
import _pytest.reports
import _pytest.runner
import _pytest.unittest
import pluggy
import pytest
import unittest.case
import unittest.result

from autonomous_report import Guard, Session
from autonomous_unittest import failing_assertions_that_pass

_guard = Guard()
_guard.watch(
    _pytest.main, _pytest.nodes, _pytest.outcomes, _pytest.python, _pytest.reports, _pytest.runner, _pytest.unittest,
    unittest.case, unittest.result,
)
_session = None
_outcomes = {}
_root = ""


def _is_worker(config):
    return hasattr(config, "workerinput")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    global _session, _root
    _root = str(getattr(session.config, "rootpath", None) or getattr(session.config, "rootdir", ""))
    # A worker of pytest-xdist has the code under test; its controller is told of the tests.
    _session = Session("pytest worker" if _is_worker(session.config) else "pytest")


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
        # An expected failure ran, and failed as it should.
        _outcomes[report.nodeid] = "passed" if hasattr(report, "wasxfail") and report.when == "call" else "skipped"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if _session is None:
        return
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
