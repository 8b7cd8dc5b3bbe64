"""Logs to standard error; whatever looks like a key or a password is blacked out on the way."""

import logging
import re
import sys
from typing import Final

_KEY: Final = re.compile(r"ptc_([0-9A-Za-z]{12})_[0-9A-Za-z]+")
_PASSWORD: Final = re.compile(r"(?i)(password=|://[^:/@\s]+:)('[^']*'|[^@\s'\"]+)")


def blacked_out(text: str) -> str:
    """A key keeps its public id, so that whoever reads the log can tell which one it was."""
    return _PASSWORD.sub(r"\1********", _KEY.sub(r"ptc_\1_********", text))


class BlackingOut(logging.Formatter):
    """Works on the finished line, traceback included: nothing gets past it in an argument."""

    def format(self, record: logging.LogRecord) -> str:
        return blacked_out(super().format(record))


def write_logs(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(BlackingOut("%(asctime)s %(levelname)-7s %(name)s  %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    if level == "info":
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
