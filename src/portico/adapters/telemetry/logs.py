"""Logs to standard error; whatever looks like a key or a password is blacked out on the way."""

import logging
import sys

from portico.kernel.redaction import blacked_out


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
