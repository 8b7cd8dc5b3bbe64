"""What ships."""

import pytest

from portico.gateway.core.search.background import REQUESTS
from portico.gateway.core.search.fusion import ENCODER, LEXICAL, NAMES, STATIC
from portico.gateway.core.search.learnt import SHIPPED


@pytest.mark.parametrize("models", [(), (STATIC,), (ENCODER,), (STATIC, ENCODER)])
def test_every_choice_of_models_has_its_weights(models: tuple[str, ...]) -> None:
    weights = SHIPPED[frozenset(models)].weights.of

    names = {NAMES} if STATIC in models else set()
    assert set(weights) == {LEXICAL, *models, *names}
    assert all(weight > 0 for weight in weights.values())


def test_background_requests_differ() -> None:
    assert len(set(REQUESTS)) == len(REQUESTS) > 90
