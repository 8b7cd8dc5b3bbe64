"""Being asked to end: by the operating system, or because the terminal has gone."""

import signal
from types import FrameType


def end_orderly() -> None:
    """From now on being asked to end raises `SystemExit`, so that everything is let go of on the
    way out. While it serves, the web server takes the signal itself, and passes it on at its end.

    A closed terminal counts as being asked, unless we were started to outlive it (`nohup`).
    """
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)
