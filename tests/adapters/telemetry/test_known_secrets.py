"""What the process knows to be secret, and what merely looks like it."""

from portico.adapters.telemetry.known_secrets import KnownSecrets

KNOWN = "k9-canary-0001"


def test_hiding_takes_away_what_is_known_and_cleaning_what_looks_like_it_too() -> None:
    secrets = KnownSecrets()
    secrets.learn(KNOWN)
    given = {"command": f"use {KNOWN} --password=x; rm -rf /"}

    assert secrets.hide_json(given) == {"command": "use ******** --password=x; rm -rf /"}
    assert secrets.clean_json(given) == {"command": "use ******** --password=******** rm -rf /"}
