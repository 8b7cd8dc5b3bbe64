"""`portico bench call`, and the house that it makes itself."""

from inspect import signature
from pathlib import Path

from portico.bench.call import _WARM, call
from portico.bench.call_house import _environment
from portico.settings.load import load


def test_its_house_allows_more_calls_a_minute_than_it_makes_in_all(tmp_path: Path) -> None:
    sizes = {name: each.default for name, each in signature(call).parameters.items()}
    through_the_gateway = 2 * (_WARM + sizes["rounds"] * 5 * sizes["calls"])

    loaded = load(_environment(tmp_path, 1, ""), folder=tmp_path)

    allowed = loaded.settings.limits.calls_a_minute
    assert allowed > through_the_gateway > 1_000
