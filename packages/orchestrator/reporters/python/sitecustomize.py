"""Found by every Python of a check through PYTHONPATH: has pytest and unittest report to the server.

Where a project sets PYTHONPATH itself, the commands in `shims/` add this folder to it; started in another way, such a Python
reports nothing, and a person is told so.
"""
import os
import sys


def _load_the_next():
    """The sitecustomize that this one stands before, such as the system's own."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in sys.path if path and os.path.abspath(path) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    # One of the project's own folder would run before the runner does.
    if spec is None or spec.loader is None or not (spec.origin or "").startswith((sys.prefix, sys.base_prefix, "/etc", "/usr")):
        return
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _report():
    if not os.environ.get("AUTONOMOUS_TEST_REPORT"):
        return
    plugins = os.environ.get("PYTEST_PLUGINS", "")
    if "autonomous_pytest" not in plugins.split(","):
        os.environ["PYTEST_PLUGINS"] = ",".join(filter(None, [plugins, "autonomous_pytest"]))
    import autonomous_unittest

    autonomous_unittest.install()


try:
    _load_the_next()
except Exception:
    pass
_report()
