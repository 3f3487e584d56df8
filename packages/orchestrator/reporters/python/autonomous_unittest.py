"""Reports the tests that unittest's own runner runs; it shares its process with the code under test."""
import sys


def install():
    """Waits for `unittest.runner` to be imported: most Python processes are no test runners."""
    sys.meta_path.insert(0, _Finder())


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "unittest.runner":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _listen(module)

        spec.loader.exec_module = exec_module
        return spec


def _listen(runner):
    import builtins
    import unittest.case
    import unittest.result
    import unittest.suite

    from autonomous_report import Guard, Session

    guard = Guard()
    look_around_tests(guard)
    run = runner.TextTestRunner.run

    def run_and_report(self, test):
        session = Session("unittest")
        make = self._makeResult
        expected = _expected_to_fail(test)

        def make_result():
            result = make()
            _report_outcomes(result, session, expected)
            return result

        self._makeResult = make_result
        result = run(self, test)
        for what in guard.changes() + failing_assertions_that_pass():
            session.tampered(what)
        session.end()
        return result

    runner.TextTestRunner.run = run_and_report
    guard.watch(builtins, unittest, unittest.case, unittest.result, unittest.suite, runner)


def look_around_tests(guard):
    """Has the guard look right before and after the body of each test of unittest."""
    import unittest.case

    _look_around(guard, unittest.case.TestCase)
    try:
        # Not to be had from the package yet, where its runner is being loaded.
        from unittest.async_case import IsolatedAsyncioTestCase
    except ImportError:
        return
    if "_callTestMethod" in vars(IsolatedAsyncioTestCase):
        _look_around(guard, IsolatedAsyncioTestCase)


def _look_around(guard, holder):
    call = holder._callTestMethod

    def call_and_look(self, method):
        outcome = getattr(self, "_outcome", None)
        expected = getattr(outcome, "expecting_failure", None)
        guard.look()
        try:
            return call(self, method)
        finally:
            guard.look()
            if getattr(outcome, "expecting_failure", None) is not expected or _failed_unexpectedly(outcome, expected):
                guard.note("the expected failure of a test")

    holder._callTestMethod = call_and_look


def _failed_unexpectedly(outcome, expected):
    """A part of a test failed, and was taken for a failure that the test expects."""
    return not expected and getattr(outcome, "expectedFailure", None) is not None


def _report_outcomes(result, session, expected):
    settled = set()

    def reporting(method, outcome):
        tell = getattr(result, method)

        def told(test, *args):
            if id(test) not in settled and hasattr(test, "id"):
                settled.add(id(test))
                session.test(test.id(), outcome(test), at=_file_of(test))
            return tell(test, *args)

        setattr(result, method, told)

    reporting(
        "addSuccess",
        lambda test: "skipped" if _failed_unexpectedly(getattr(test, "_outcome", None), id(test) in expected) else "passed",
    )
    reporting("addFailure", lambda test: "failed")
    reporting("addError", lambda test: "failed")
    reporting("addSkip", lambda test: "skipped")
    # Where the code under test says that a failure is expected, nothing is known.
    reporting("addExpectedFailure", lambda test: "passed" if id(test) in expected else "skipped")
    reporting("addUnexpectedSuccess", lambda test: "failed")


def _expected_to_fail(test):
    """Tests of a suite that say themselves that they fail, by id: held, so that it is not given to another."""
    found = {}
    waiting = [test]
    while waiting:
        each = waiting.pop()
        if hasattr(each, "_testMethodName"):
            holders = (getattr(each, each._testMethodName, None), type(each))
            if any(getattr(holder, "__unittest_expecting_failure__", False) is True for holder in holders):
                found[id(each)] = each
            continue
        try:
            waiting.extend(each)
        except TypeError:
            pass
    return found


def _file_of(test):
    """The file that declares a test; empty where that is not known."""
    doctest = getattr(test, "_dt_test", None)
    if doctest is not None:
        return doctest.filename or ""
    return getattr(sys.modules.get(type(test).__module__), "__file__", None) or ""


def failing_assertions_that_pass():
    """Names assertions of unittest that do not fail what has to fail."""
    import unittest

    # As tests have it: one of a class of their own.
    case = type("Case", (unittest.TestCase,), {"runTest": lambda self: None})()
    checks = {
        "assertEqual": (1, 2),
        "assertTrue": (False,),
        "assertFalse": (True,),
        "assertIs": (1, None),
        "assertIn": (1, []),
        "assertIsNone": (1,),
        "assertGreater": (1, 2),
        "assertListEqual": ([1], [2]),
        "assertDictEqual": ({1: 1}, {1: 2}),
        "fail": (),
    }
    found = []
    for name, arguments in checks.items():
        try:
            getattr(case, name)(*arguments)
        except AssertionError:
            continue
        except Exception:
            pass
        found.append("unittest.TestCase.%s" % name)
    try:
        assert isinstance(AssertionError("x"), Exception) and 1 == 2
    except BaseException as error:
        if type(error).__module__ == "builtins" and type(error).__name__ == "AssertionError":
            return found
    return found + ["assert"]
