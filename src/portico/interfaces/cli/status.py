"""How the running server is."""

from portico.interfaces.cli.exits import Exit
from portico.interfaces.cli.terminal import At


def status(*, verbose: bool = False, wait: float = 0, at: At) -> int:
    """How the running server is; exits with 4 if it does not run.

    Parameters
    ----------
    verbose
        Also who you are there, where things are kept, and the database's version.
    wait
        Seconds to wait until it is ready, if it has only just been started.
    """
    from portico.interfaces.cli.box_words import in_words
    from portico.interfaces.cli.kept_words import kept_up, say_why
    from portico.interfaces.cli.patience import patiently
    from portico.interfaces.cli.server import NotRunning, Server

    where = at.house.whereabouts()
    server = Server(at.house)
    with at.working("waiting for the server"):
        try:
            found = patiently(
                lambda: server.get("/status"), wait, enough=lambda status: status["ready"]
            )
        except NotRunning:
            say_why(at)
            raise
    facts = {
        "server": where.remote or where.server_url,
        "version": found["version"],
        "ready": found["ready"],
        "box": in_words(found["boxes"]),
        "secrets": found["secrets"] or "cannot be reached: portico doctor",
    }
    if where.remote is None:
        facts["kept_up"] = kept_up(at)
    if verbose:
        me = server.get("/me")
        store = found["store"]
        facts |= {
            "you_are": me["name"],
            "roles": me["roles"],
            "clearance": me["clearance"],
            "database": f"PostgreSQL {store['server_version']} ({store['source']})",
            "migrations_applied": store["migrations_applied"],
            "migrations_pending": store["migrations_pending"],
            "config_file": str(where.config_file),
            "key_file": str(where.key_file),
            "data": str(where.data),
            "log_file": None if where.log_file is None else str(where.log_file),
        }
    at.facts(facts)
    return Exit.OK if found["ready"] else Exit.NOT_RUNNING
