"""What this program writes in its log, looked at as it comes: a canary has no business there."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tests.storm.bridge_lattice import CANARY


class WatchedLog(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines = 0
        self.canaries: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += 1
        self.canaries += CANARY.findall(f"{self.format(record)} {vars(record)}")


@contextmanager
def watched_log() -> Iterator[WatchedLog]:
    log, ours = WatchedLog(), logging.getLogger("portico")
    before = ours.level
    ours.setLevel(logging.DEBUG)
    ours.addHandler(log)
    try:
        yield log
    finally:
        ours.removeHandler(log)
        ours.setLevel(before)
