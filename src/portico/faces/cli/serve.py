"""Run the server."""

from contextlib import suppress

from portico.faces.cli.terminal import At


def serve(
    *, host: str | None = None, port: int | None = None, log_level: str | None = None, at: At
) -> None:
    """Run the server in this terminal, until Ctrl-C.

    Parameters
    ----------
    host
        Address to listen on (setting server.host).
    port
        Port to listen on (setting server.port).
    log_level
        Least level that is logged: debug, info, warning, error (setting log.level).
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
        house.serve(announce)
    finally:
        if announced:
            with suppress(OSError):  # the terminal may be gone
                at.say("Stopped.")
