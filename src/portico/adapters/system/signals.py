"""Being asked to end: by the operating system, or because the terminal has gone."""

import signal
from collections.abc import Callable
from types import FrameType


def end_orderly(asked: Callable[[], None]) -> None:
    """From now on being asked to end raises `SystemExit`, so that everything is let go of on the
    way out. While it serves, the web server takes the signal itself, and passes it on at its end.

    A closed terminal counts as being asked, unless we were started to outlive it (`nohup`).
    """

    def leave(_number: int, _frame: FrameType | None) -> None:
        asked()
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
