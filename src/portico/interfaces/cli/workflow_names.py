"""Which workflow is meant: by the id of its run, or by enough of it."""

from itertools import islice

from portico.engine.core.errors import RunNotFound
from portico.interfaces.cli.run_names import LATEST, find_run, named
from portico.interfaces.cli.server import Server


def find_workflow(server: Server, text: str) -> str:
    """The run's whole id; a program's is found among all runs. Raises `RunNotFound`, `BadUsage`."""
    lines = islice(server.pages("/workflows"), LATEST)
    try:
        return named(text, (str(each["run"]) for each in lines))
    except RunNotFound:
        return find_run(server, text)
