"""What each kind of reference leads to, and what none leads to."""

import os
import sys
from pathlib import Path

import keyring
import pytest

from portico.adapters.secrets.references import References
from portico.guard.core.secret import SecretsUnavailable, parse_ref
from tests.adapters.secrets.keyrings import MemoryKeyring

KEPT = {("home", "github"): "kept value"}


def references(**own: Path) -> References:
    return References(
        {"TOKEN": "from the environment", "EMPTY": ""},
        lambda space, name: KEPT.get((space, name)),
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


def test_a_secret_belongs_to_its_space() -> None:
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


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    with pytest.raises(SecretsUnavailable, match="cannot be read"):
        value(f"file:{tmp_path}/binary")


def test_a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(SecretsUnavailable, match="no ordinary file"):
        value(f"file:{tmp_path}/pipe")


def test_folders_and_devices_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/zero")):
        with pytest.raises(SecretsUnavailable, match="no ordinary file"):
            value(f"file:{path}")


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such place on this system")
def test_what_the_kernel_makes_up_is_refused_not_even_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/environ")

    for path in ("/proc/self/environ", tmp_path / "link"):
        with pytest.raises(SecretsUnavailable, match="no ordinary file"):
            value(f"file:{path}")
