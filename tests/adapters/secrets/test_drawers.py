"""Where secrets and keys are kept on this machine, never in plain text, and what leads to them."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import KeyringLocked

from portico.adapters.secrets import (
    OURS,
    AgeFile,
    KeysByReference,
    KeysElsewhere,
    OsKeyring,
    Places,
    References,
    SecretEntry,
    SecretsInStore,
    SecretStore,
    VaultKeysInStore,
    choose,
    foreign_entry,
)
from portico.guard.core.secrets import SecretsUnavailable, StoredSecret, parse_ref
from portico.guard.core.vault import InvalidVaultKeys, VaultKeys
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING, SeededEntropy, TickingClock
from portico.testing.secrets import MemoryDrawer
from tests.adapters.secrets.keyrings import (
    BrokenKeyring,
    ForgetfulKeyring,
    LockedKeyring,
    MemoryKeyring,
)

CANARY = "canary-4b1d0c77e6"
KEPT = SecretEntry(CANARY, BEGINNING, "ana")
OTHER = SecretEntry("another ünïcode \n value", BEGINNING + timedelta(days=1), "bob")


def age_file(folder: Path) -> AgeFile:
    return AgeFile(folder / "data" / "secrets.age", folder / "data" / "secrets" / "age.identity")


@pytest.fixture(params=["age", "keyring", "memory"])
def drawer(request: pytest.FixtureRequest, tmp_path: Path) -> SecretStore:
    match request.param:
        case "age":
            return age_file(tmp_path)
        case "keyring":
            return OsKeyring(MemoryKeyring(), "portico x", tmp_path / "lock")
        case _:
            return MemoryDrawer()


def put(drawer: SecretStore, space: str, name: str, kept: SecretEntry | None) -> SecretEntry | None:
    return drawer.change(space, name, lambda _before: kept)


def test_what_is_kept_is_found_again_in_its_space_until_it_is_removed(drawer: SecretStore) -> None:
    put(drawer, "here", "github", KEPT)
    put(drawer, "here", "slack", OTHER)

    assert drawer.all("here") == {"github": KEPT, "slack": OTHER}
    assert drawer.all("there") == {}
    assert [*drawer.spaces()] == ["here"]

    assert put(drawer, "here", "github", None) == KEPT
    assert put(drawer, "here", "github", None) is None
    put(drawer, "here", "slack", None)

    assert [*drawer.spaces()] == []


def test_a_change_is_made_of_what_is_there(drawer: SecretStore) -> None:
    put(drawer, "here", "github", KEPT)

    before = drawer.change("here", "github", lambda kept: OTHER if kept == KEPT else None)

    assert before == KEPT
    assert drawer.get("here", "github") == OTHER


def test_an_empty_keyring_has_no_entry_of_ours(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    drawer = OsKeyring(backend, "portico x", tmp_path / "lock")
    for name in ("github", "aws"):
        put(drawer, "here", name, KEPT)
    for name in ("github", "aws"):
        put(drawer, "here", name, None)

    assert backend.entries == {}


def test_what_does_not_change_is_not_written_again(tmp_path: Path) -> None:
    drawer = age_file(tmp_path)
    put(drawer, "here", "github", KEPT)
    before = drawer.file.read_bytes()

    put(drawer, "here", "github", KEPT)

    assert drawer.file.read_bytes() == before


def test_the_file_shows_neither_values_nor_names_and_is_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    drawer = age_file(tmp_path)
    put(drawer, "here", "github", KEPT)

    for file in (drawer.file, drawer.identity):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert CANARY not in file.read_text()
        assert "github" not in file.read_text()
    assert drawer.file.read_text().startswith("-----BEGIN AGE ENCRYPTED FILE-----")
    assert CANARY not in repr(KEPT)
    left = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    assert left == {"secrets.age", "secrets.lock", "age.identity"}


def _with_another_identity(drawer: AgeFile) -> None:
    other = age_file(drawer.file.parent / "other")
    put(other, "here", "x", KEPT)
    drawer.identity.write_text(other.identity.read_text())


@pytest.mark.parametrize(
    "harm",
    [
        lambda drawer: drawer.identity.unlink(),
        _with_another_identity,
        lambda drawer: drawer.file.write_text(drawer.file.read_text()[:-120]),
        lambda drawer: drawer.identity.chmod(0o644),
        lambda drawer: drawer.identity.write_text("AGE-SECRET-KEY-1NOT"),
        lambda drawer: (drawer.file.unlink(), drawer.file.mkdir()),
    ],
    ids=["none", "another", "a torn file", "an open identity", "a bad identity", "a folder"],
)
def test_a_file_that_cannot_be_opened_is_never_begun_anew(
    tmp_path: Path, harm: Callable[[AgeFile], object]
) -> None:
    drawer = age_file(tmp_path)
    put(drawer, "here", "github", KEPT)
    harm(drawer)

    with pytest.raises(SecretsUnavailable) as first:
        drawer.get("here", "github")
    with pytest.raises(SecretsUnavailable):
        put(drawer, "here", "slack", OTHER)

    assert first.value.fix
    assert CANARY not in str(first.value)


_WRITER = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from portico.adapters.secrets import AgeFile
from portico.adapters.secrets import SecretEntry

file, identity, who = sys.argv[1:]
drawer = AgeFile(Path(file), Path(identity))
for number in range(10):
    kept = SecretEntry(f"{who} {number}", datetime(2026, 1, 1, tzinfo=UTC), who)
    drawer.change("here", f"{who}-{number}", lambda _before: kept)
    drawer.change("here", "count", lambda before: SecretEntry(
        str(int(before.value) + 1 if before else 1), kept.set_at, who))
"""


def test_several_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    drawer = age_file(tmp_path)
    program = [sys.executable, "-c", _WRITER, str(drawer.file), str(drawer.identity)]
    writers = [subprocess.Popen([*program, f"w{number}"]) for number in range(4)]

    assert [writer.wait() for writer in writers] == [0] * 4
    found = drawer.all("here")
    assert len(found) == 41
    assert found["count"].value == "40"


def test_an_entry_of_a_keyring_is_ours_alone_and_its_names_are_listed(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    backend.set_password("github", "ana", "hers")
    drawer = OsKeyring(backend, "portico x", tmp_path / "lock")

    put(drawer, "here", "github", KEPT)

    assert {service for service, _ in backend.entries} == {"github", "portico x"}
    assert json.loads(backend.entries["portico x", "names of here"]) == ["github"]
    assert foreign_entry(backend, "github", "ana") == "hers"
    assert foreign_entry(backend, "github", "bob") is None


@pytest.mark.parametrize("backend", [LockedKeyring(), BrokenKeyring()])
def test_a_keyring_that_does_not_answer_says_so_in_our_words(
    tmp_path: Path, backend: MemoryKeyring
) -> None:
    with pytest.raises(SecretsUnavailable, match="keyring"):
        put(OsKeyring(backend, "portico x", tmp_path / "lock"), "here", "github", KEPT)


def test_a_lock_is_not_laid_where_a_link_leads(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secrets.lock").symlink_to(elsewhere)

    with pytest.raises(OSError, match="symbolic link"):
        put(age_file(tmp_path), "here", "github", KEPT)

    assert not os.path.lexists(elsewhere)


ANA = a_person("ana")
EVE = a_person("eve", space=a_space("elsewhere"))


@pytest.mark.parametrize("kind", ["age", "keyring"])
async def test_a_space_that_goes_takes_its_secrets_along(tmp_path: Path, kind: str) -> None:
    drawer: SecretStore = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
    if kind == "keyring":
        drawer = OsKeyring(MemoryKeyring(), "portico x", tmp_path / "lock")
    secrets = SecretsInStore(lambda: drawer, lambda _: None)
    for person in (ANA, EVE):
        for name in ("github", "aws"):
            await secrets.put(person, StoredSecret(name, BEGINNING, "ana"), "a value")

    await secrets.forget(ANA.space)

    assert await secrets.all(ANA) == []
    assert [each.name for each in await secrets.all(EVE)] == ["aws", "github"]
    assert list(drawer.spaces()) == [str(EVE.space)]
    await secrets.forget(ANA.space)


USELESS: list[KeyringBackend] = [
    fail.Keyring(),  # type: ignore[no-untyped-call] # the library has no types there
    null.Keyring(),  # type: ignore[no-untyped-call] # likewise
    ForgetfulKeyring(),
    LockedKeyring(),
    BrokenKeyring(),
]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "secrets.age", tmp_path / "s" / "identity", tmp_path / "s" / "name")


@pytest.fixture(autouse=True)
def _own_keyring_again() -> object:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


def test_a_keyring_that_works_is_taken(places: Places) -> None:
    backend = MemoryKeyring()
    keyring.set_keyring(backend)

    assert choose("auto", places).title == "keyring"
    assert choose("keyring", places).title == "keyring"
    assert choose("age", places).title == "age"
    assert backend.entries == {}


@pytest.mark.parametrize("backend", USELESS, ids=lambda each: type(each).__module__[-12:])
def test_without_one_they_are_kept_in_the_encrypted_file(
    places: Places, backend: KeyringBackend
) -> None:
    keyring.set_keyring(backend)

    assert choose("auto", places).title == "age"
    with pytest.raises(SecretsUnavailable, match="keyring"):
        choose("keyring", places)


def test_where_the_library_is_missing_they_are_kept_in_the_file(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)

    assert choose("auto", places).title == "age"
    with pytest.raises(SecretsUnavailable, match="not installed") as refused:
        choose("keyring", places)
    assert "portico[keyring]" in (refused.value.fix or "")


def test_secrets_in_the_file_are_not_forgotten_when_a_keyring_comes(places: Places) -> None:
    choose("age", places).change("here", "github", lambda _before: KEPT)
    keyring.set_keyring(MemoryKeyring())

    assert choose("auto", places).get("here", "github") == KEPT


def test_two_installations_of_one_user_do_not_share_their_entries(
    places: Places, tmp_path: Path
) -> None:
    keyring.set_keyring(MemoryKeyring())
    other = Places(tmp_path / "o.age", tmp_path / "o" / "identity", tmp_path / "o" / "name")

    choose("keyring", places).change("here", "github", lambda _before: KEPT)

    assert choose("keyring", other).get("here", "github") is None
    assert choose("keyring", places).get("here", "github") == KEPT


def test_a_keyring_that_cannot_even_be_opened_is_none(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked() -> KeyringBackend:
        raise KeyringLocked("locked")

    monkeypatch.setattr(keyring, "get_keyring", locked)

    assert choose("auto", places).title == "age"
    with pytest.raises(SecretsUnavailable, match="KeyringLocked"):
        choose("keyring", places)


def test_what_lies_in_the_keyring_is_not_begun_anew_in_the_file_while_it_is_locked(
    places: Places,
) -> None:
    keyring.set_keyring(MemoryKeyring())
    choose("auto", places).change("here", "github", lambda _before: KEPT)
    keyring.set_keyring(LockedKeyring())

    with pytest.raises(SecretsUnavailable, match="keyring"):
        choose("auto", places)
    assert choose("age", places).title == "age"


def test_a_keyring_that_waits_for_a_person_is_not_waited_for(tmp_path: Path) -> None:
    asked, nobody = Event(), Event()

    class Asking(MemoryKeyring):
        def set_password(self, service: str, username: str, password: str) -> None:
            asked.set()
            nobody.wait(20)

    try:
        assert not OsKeyring(Asking(), "portico x", tmp_path / "lock", wait_timeout=0.05).works()
        assert asked.is_set()
    finally:
        nobody.set()


THERE = {("home", "github"): "kept value"}


def references(**own: Path) -> References:
    return References(
        {"TOKEN": "from the environment", "EMPTY": ""},
        lambda space, name: THERE.get((space, name)),
        own=tuple(path for name, path in own.items() if name != "own_file"),
        own_file=own.get("own_file"),
    )


def value(text: str, found: References | None = None, space: str = "home") -> str | None:
    ref = parse_ref(text)
    assert ref is not None
    return (found or references()).value(space, ref)


def test_a_variable_a_kept_secret_and_a_file_are_found(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from a file\r\n")

    assert value("env:TOKEN") == "from the environment"
    assert value("secret:github") == "kept value"
    assert value(f"file:{file}") == "from a file"


def test_an_entry_of_the_keyring_is_found() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(MemoryKeyring())
    keyring.set_password("github", "ana", "hers")
    try:
        assert value("keyring:github/ana") == "hers"
        assert value("keyring:github/bob") is None
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("text", ["env:MISSING", "env:EMPTY", "secret:slack", "file:/nowhere/x"])
def test_what_is_not_there_is_none(text: str) -> None:
    assert value(text) is None
    assert value("secret:github", space="elsewhere") is None


def test_no_reference_leads_into_our_own_folders_not_even_by_a_link(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "pepper").write_text("never")
    (tmp_path / "link").symlink_to(own / "pepper")

    for text in (f"file:{own}/pepper", f"file:{tmp_path}/link", f"file:{own}/../own/pepper"):
        with pytest.raises(SecretsUnavailable, match="Portico's own"):
            value(text, references(own=own))


def test_of_our_own_file_only_what_it_says_of_servers_is_given(tmp_path: Path) -> None:
    found = references(own_file=tmp_path / "portico.toml", folder=tmp_path)

    assert not found.closed(tmp_path / "portico.toml", "/servers/github/env/TOKEN")
    assert found.closed(tmp_path / "portico.toml", "/identity/pepper")
    assert found.closed(tmp_path / "portico.toml", "")
    assert found.closed(tmp_path / "client.key", "")
    assert not found.closed(tmp_path.parent / "elsewhere", "")


def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(SecretsUnavailable, match="no ordinary file"):
            value(f"file:{path}")
    with pytest.raises(SecretsUnavailable, match="cannot be read"):
        value(f"file:{tmp_path}/binary")


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such place on this system")
def test_what_the_kernel_makes_up_is_refused_not_even_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/environ")

    for path in ("/proc/self/environ", tmp_path / "link"):
        with pytest.raises(SecretsUnavailable, match="no ordinary file"):
            value(f"file:{path}")


def in_drawer(drawer: MemoryDrawer | AgeFile | None = None, seed: str = "one") -> VaultKeysInStore:
    return VaultKeysInStore(drawer or MemoryDrawer(), TickingClock(), SeededEntropy(seed))


def test_a_key_is_made_once_and_found_ever_after(tmp_path: Path) -> None:
    drawer = AgeFile(tmp_path / "secrets.age", tmp_path / "identity")
    one, other = in_drawer(drawer), in_drawer(drawer, "other")

    assert one.read() is None
    made = one.make()

    assert other.make() == made
    assert other.read() == made


def test_a_change_is_kept() -> None:
    keys = in_drawer()
    fresh = VaultKeys.fresh(SeededEntropy("fresh")).current
    made = keys.make()

    changed = keys.change(lambda now: now.announcing(fresh))

    assert changed.keys == (*made.keys, fresh)
    assert keys.read() == changed


def test_what_is_kept_under_their_name_and_is_no_key_is_refused() -> None:
    drawer = MemoryDrawer()
    drawer.change(OURS, "vault", lambda _before: SecretEntry("no key", BEGINNING, "ana"))

    with pytest.raises(InvalidVaultKeys):
        in_drawer(drawer).read()
    with pytest.raises(InvalidVaultKeys):
        in_drawer(drawer).make()


def test_by_reference_they_are_read_and_never_written() -> None:
    keys = KeysByReference("env:KEYS", lambda: "0a" * 32)
    same: Callable[[VaultKeys], VaultKeys] = VaultKeys.only_current

    assert keys.read() == VaultKeys.parse("0a" * 32, "")
    with pytest.raises(KeysElsewhere, match="env:KEYS"):
        keys.change(same)


def test_a_reference_that_leads_nowhere_is_an_error() -> None:
    with pytest.raises(InvalidVaultKeys, match="env:KEYS"):
        KeysByReference("env:KEYS", lambda: None).read()
