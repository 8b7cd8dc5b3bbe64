"""Logs and instruments belong to the whole process: they are put back, or made once."""

import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.adapters.telemetry.measure import Measure


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Whatever a test does to logging is undone."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    hooks = threading.excepthook, sys.unraisablehook
    levels = {name: logging.getLogger(name).level for name in root.manager.loggerDict}
    try:
        yield
    finally:
        for handler in list(root.handlers):
            root.removeHandler(handler)
            handler.close()
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(level)
        for name in root.manager.loggerDict:
            logger = logging.getLogger(name)
            logger.setLevel(levels.get(name, logging.NOTSET))
            logger.handlers.clear()
        threading.excepthook, sys.unraisablehook = hooks
        logging.captureWarnings(capture=False)


@pytest.fixture(scope="session")
def measure() -> Measure:
    return Measure({"service.name": "test"}, KnownSecrets(["c4nary-label-value"]))
