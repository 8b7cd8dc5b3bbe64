"""Our own list is for a package, a version and a definition, all three."""

from portico.gateway.core.package import Package
from portico.gateway.core.shipped_effects import ShippedEffects, parse_shipped
from portico.kernel.effect import Effect

LISTED = parse_shipped(
    """
    {"npm:server": {
        "1.0": {"external_read": ["a", "b"], "irreversible": ["c"]},
        "2.0": {"external_write": ["a"]}
    }}
    """
)


def test_a_definition_is_known_for_its_version() -> None:
    assert LISTED.of(Package("npm", "server", "1.0"), "a") is Effect.EXTERNAL_READ
    assert LISTED.of(Package("npm", "server", "2.0"), "a") is Effect.EXTERNAL_WRITE
    assert LISTED.of(Package("npm", "server", "1.0"), "c") is Effect.IRREVERSIBLE


def test_another_version_package_ecosystem_or_definition_is_not_known() -> None:
    assert LISTED.of(Package("npm", "server", "3.0"), "a") is None
    assert LISTED.of(Package("npm", "other", "1.0"), "a") is None
    assert LISTED.of(Package("pypi", "server", "1.0"), "a") is None
    assert LISTED.of(Package("npm", "server", "1.0"), "z") is None
    assert ShippedEffects().of(Package("npm", "server"), "a") is None


def test_with_the_version_left_open_the_worst_that_is_known_of_the_definition_counts() -> None:
    assert LISTED.of(Package("npm", "server"), "a") is Effect.EXTERNAL_WRITE
    assert LISTED.of(Package("npm", "server"), "b") is Effect.EXTERNAL_READ
    assert LISTED.of(Package("npm", "server"), "z") is None
