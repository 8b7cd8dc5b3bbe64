"""Secrets of a space, wherever they are kept."""

from datetime import timedelta
from pathlib import Path

import pytest

from portico.adapters.secrets import AgeFile, OsKeyring, SecretsInStore
from portico.adapters.telemetry.known_secrets import KnownSecrets
from portico.guard.core.secrets import StoredSecret
from portico.guard.ports import Secrets
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING
from portico.testing.secrets import MemorySecrets
from tests.adapters.secrets.keyrings import MemoryKeyring

ANA = a_person("ana")
EVE = a_person("eve", space=a_space("elsewhere"))
GITHUB = StoredSecret("github", BEGINNING, "ana")
AWS = StoredSecret("aws", BEGINNING + timedelta(days=1), "bob")
CANARY = "canary-of-a-contract"


@pytest.fixture
def known() -> KnownSecrets:
    return KnownSecrets()


@pytest.fixture(params=["memory", "age", "keyring"])
def secrets(request: pytest.FixtureRequest, tmp_path: Path, known: KnownSecrets) -> Secrets:
    match request.param:
        case "memory":
            return MemorySecrets()
        case "age":
            file = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
            return SecretsInStore(lambda: file, known.learn)
        case _:
            keyring = OsKeyring(MemoryKeyring(), "portico x", tmp_path / "lock")
            return SecretsInStore(lambda: keyring, known.learn)


async def test_what_is_put_last_is_there_for_its_space_until_it_is_removed(
    secrets: Secrets, request: pytest.FixtureRequest, known: KnownSecrets
) -> None:
    """And is blacked out from then on where it passes through us."""
    kept_in = request.node.callspec.params["secrets"]
    assert await secrets.where() == kept_in
    await secrets.put(ANA, GITHUB, CANARY)
    await secrets.put(ANA, AWS, "another")
    assert (CANARY in known.clean(f"a log says {CANARY}")) is (kept_in == "memory")

    assert await secrets.get(ANA, "github") == CANARY
    assert await secrets.all(ANA) == [AWS, GITHUB]
    assert await secrets.get(EVE, "github") is None
    assert await secrets.all(EVE) == []
    assert not await secrets.remove(EVE, "github")

    later = StoredSecret("github", AWS.set_at, "bob")
    await secrets.put(ANA, later, "the next")
    assert await secrets.get(ANA, "github") == "the next"
    assert await secrets.all(ANA) == [AWS, later]
    assert await secrets.remove(ANA, "github")
    assert not await secrets.remove(ANA, "github")
    assert await secrets.get(ANA, "github") is None


async def test_a_value_that_another_process_has_set_is_learnt_when_it_is_read(
    tmp_path: Path, known: KnownSecrets
) -> None:
    file = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
    await SecretsInStore(lambda: file, KnownSecrets().learn).put(ANA, GITHUB, CANARY)

    await SecretsInStore(lambda: file, known.learn).get(ANA, "github")

    assert CANARY not in known.clean(f"a log says {CANARY}")


async def test_nothing_here_holds_the_loop_up(tmp_path: Path, nothing_blocks: None) -> None:
    del nothing_blocks
    file = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
    secrets = SecretsInStore(lambda: file, KnownSecrets().learn)

    await secrets.put(ANA, GITHUB, CANARY)

    assert await secrets.get(ANA, "github") == CANARY
    assert await secrets.where() == "age"
    assert await secrets.remove(ANA, "github")
