"""How much may be done ahead."""

import pytest

from portico.gateway.core.ahead.terms import AheadTerms


@pytest.mark.parametrize(
    ("tool", "price"),
    [("search.web", 0.02), ("search.news", 0.01), ("files.read", 0), ("search", 0)],
)
def test_a_call_costs_what_the_dearest_wildcard_says(tool: str, price: float) -> None:
    terms = AheadTerms(prices={"search.*": 0.01, "*.web": 0.02, "search.web": 0.005})

    assert terms.price_of(tool) == price
