"""`portico feedback`: say what a suggestion was worth."""

from typing import Literal

from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At


def feedback(run: str, outcome: Literal["accepted", "rejected", "modified"], /, *, at: At) -> None:
    """Say what a suggestion was worth: it decides how sure the next one has to be.

    To run one is to accept it, unless you say otherwise here.

    portico feedback sug_01jq… rejected

    Parameters
    ----------
    run
        The run (run_…), or the suggestion that it comes from (sug_…).
    outcome
        accepted, rejected, or modified: you ran it otherwise than it was suggested.
    """
    said = Server(at.house).post("/feedback", {"run": run, "outcome": outcome})
    at.data(said, f"{said['suggestion']} is noted as {said['outcome']}.")
