"""Run the server."""

from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from portico.interfaces.cli.keeping import StartedBy
from portico.interfaces.cli.terminal import At


def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    log_level: str | None = None,
    started_by: Annotated[StartedBy, Parameter(show=False)] = "terminal",
    at: At,
) -> None:
    """Run the server in this terminal, until Ctrl-C; in the background: portico up.

    Parameters
    ----------
    host
        Address to listen on (setting server.host).
    port
        Port to listen on (setting server.port).
    log_level
        Least level that is logged: debug, info, warning, error (setting log.level).
    started_by
        Who looks after it; said by `portico up`.
    """
    flags = {"server.host": host, "server.port": port, "log.level": log_level}
    house = at.house.with_flags(config=None, flags=flags)
    announced: list[str] = []

    def announce(url: str) -> None:
        announced.append(url)
        at.say(f"Portico {house.version} on {url}  (Ctrl-C stops it)")
        if port is not None and port != at.house.setting("server.port").value:
            at.say(
                f"Other commands find it with PORTICO_SERVER__PORT={port} in their environment,"
                f" or by: portico config set server.port {port}"
            )

    try:
        house.serve(announce, started_by=started_by)
    finally:
        if announced:
            with suppress(OSError):  # the terminal may be gone
                at.say("Stopped.")
