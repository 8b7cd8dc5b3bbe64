"""The worst of what was found is how the house is."""

import pytest

from portico.engine.core.health import Finding, State, worst


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], State.GOOD),
        ([State.GOOD, State.GOOD], State.GOOD),
        ([State.MENDED, State.GOOD], State.MENDED),
        ([State.GOOD, State.WARNING, State.MENDED], State.WARNING),
        ([State.BROKEN, State.WARNING, State.GOOD], State.BROKEN),
    ],
)
def test_one_broken_thing_outweighs_all_that_is_good(states: list[State], found: State) -> None:
    findings = [Finding(check=str(state), state=state, detail="") for state in states]

    assert worst(findings) is found
