"""Secrets go with their space."""

from pathlib import Path

import pytest

from portico.adapters.secrets.age_file import AgeFile
from portico.adapters.secrets.drawer import Drawer
from portico.adapters.secrets.kept import DrawerSecrets
from portico.adapters.secrets.os_keyring import OsKeyring
from portico.guard.core.secret import KeptSecret
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING
from tests.adapters.secrets.keyrings import MemoryKeyring

ANA = a_person("ana")
EVE = a_person("eve", space=a_space("elsewhere"))


@pytest.mark.parametrize("kind", ["age", "keyring"])
async def test_a_space_that_goes_takes_its_secrets_along(tmp_path: Path, kind: str) -> None:
    drawer: Drawer = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
    if kind == "keyring":
        drawer = OsKeyring(MemoryKeyring(), "portico x", tmp_path / "lock")
    secrets = DrawerSecrets(lambda: drawer, lambda _: None)
    for person in (ANA, EVE):
        for name in ("github", "aws"):
            await secrets.put(person, KeptSecret(name, BEGINNING, "ana"), "a value")

    await secrets.forget(ANA.space)

    assert await secrets.all(ANA) == []
    assert [each.name for each in await secrets.all(EVE)] == ["aws", "github"]
    assert list(drawer.spaces()) == [str(EVE.space)]
    await secrets.forget(ANA.space)
