"""Being asked to end: by the operating system, or because the terminal has gone."""

import signal


def end_orderly() -> None:
    """The server ends its work on SIGTERM and then sends it to itself once more, which would kill
    the process before it has let go of its database. A closed terminal counts as being asked."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
