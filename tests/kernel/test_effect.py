"""Effects have an order, and what is not known stands at its top."""

import pytest

from portico.kernel.effect import Effect, worst


def test_each_effect_outdoes_the_one_before() -> None:
    assert [effect.value for effect in sorted(Effect, key=lambda effect: effect.rank)] == [
        "pure",
        "local_read",
        "external_read",
        "local_write",
        "external_write",
        "irreversible",
        "unknown",
    ]


@pytest.mark.parametrize("effect", Effect)
def test_an_effect_reads_only_or_writes_or_destroys(effect: Effect) -> None:
    writes = effect in {Effect.LOCAL_WRITE, Effect.EXTERNAL_WRITE}

    assert [effect.reads_only, writes, effect.destroys].count(True) == 1


def test_what_is_not_known_may_destroy() -> None:
    assert Effect.UNKNOWN.destroys
    assert Effect.IRREVERSIBLE.destroys
    assert not Effect.EXTERNAL_WRITE.destroys


def test_the_worst_of_several_is_theirs_and_of_none_is_nothing() -> None:
    assert worst([Effect.LOCAL_READ, Effect.IRREVERSIBLE, Effect.PURE]) is Effect.IRREVERSIBLE
    assert worst([Effect.UNKNOWN, Effect.IRREVERSIBLE]) is Effect.UNKNOWN
    assert worst([]) is Effect.PURE
