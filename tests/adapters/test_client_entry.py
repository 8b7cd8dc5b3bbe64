"""Portico's entry in the files of clients, on a real disk."""

import json
import os
import stat
from pathlib import Path

import pytest

from portico.gateway.core.client_configs import described
from portico.gateway.core.client_entry import (
    HOMES,
    ClientCannot,
    ClientFileMalformed,
    ClientFileMoved,
    ClientFileUnreadable,
    EditUnsafe,
    EntryStatus,
    UnknownClient,
    entry_in,
    home_of,
)
from tests.adapters.client_configs.prepared import PLACES, PROGRAM, prepared, written_anew

ALL = tuple(PLACES)


@pytest.mark.requirement("first-hour:connect:own-bytes")
@pytest.mark.parametrize("client", ALL)
def test_a_client_is_connected_and_disconnected_to_the_byte(tmp_path: Path, client: str) -> None:
    made = prepared(tmp_path, *ALL)
    connections, before = made.connections, made.all_bytes()
    file = made.file(client)
    place = connections.files.place(file)
    others = described(home_of(client).client, place, file.read_text("utf-8-sig")).wishes

    proposal = connections.proposed(client)
    written = connections.write(proposal)
    text = file.read_text("utf-8-sig")
    again = connections.proposed(client)
    [removal] = connections.ours(client)

    entry = entry_in(str(file), text, home_of(client).names)
    assert proposal.status is EntryStatus.NONE
    assert isinstance(entry, dict)
    assert (entry["command"], entry["args"]) == (PROGRAM, ["stdio", "--start"])
    assert again.status is EntryStatus.SAME
    assert written.copy is not None
    assert Path(written.copy).read_bytes() == before[client]
    assert stat.S_IMODE(Path(written.copy).stat().st_mode) == 0o600
    assert described(home_of(client).client, place, text).wishes == others, (
        "and we are none of them"
    )
    connections.take_out(removal)
    assert made.all_bytes() == before
    assert list(connections.stored.folder.iterdir()) == []
    assert connections.ours(client) == []


def test_every_client_is_shown_with_how_it_stands(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor", "zed", "gemini", "codex")
    made.connections.write(made.connections.proposed("zed"))
    made.file("codex").write_text("[mcp_servers\n")
    made.file("gemini").write_text('{"mcpServers": {"portico": {"command": "x"}}}')

    found = {each.home.name: each for each in made.connections.found()}

    assert list(found) == [each.name for each in HOMES]
    assert [name for name, each in found.items() if each.present] == [
        "cursor",
        "zed",
        "codex",
        "gemini",
    ]
    assert found["cursor"].status is EntryStatus.NONE
    assert found["zed"].status is EntryStatus.SAME
    assert found["gemini"].status is EntryStatus.FOREIGN
    assert found["codex"].status is None
    assert found["codex"].problem is not None
    assert "line 1" in found["codex"].problem


@pytest.mark.requirement("first-hour:connect:rewritten")
@pytest.mark.parametrize("client", ["claude-code", "cursor", "gemini"])
def test_what_the_client_wrote_in_between_stays(tmp_path: Path, client: str) -> None:
    made = prepared(tmp_path, client)
    expected = written_anew(made.file(client), theme="dark")
    prepared(tmp_path, client)
    made.connections.write(made.connections.proposed(client))
    written_anew(made.file(client), theme="dark")

    removal = made.disconnect(client)

    assert made.file(client).read_text() == expected
    assert not removal.as_before
    assert removal.copy is not None
    assert Path(removal.copy).exists(), "what was before is kept, since the file is not that"


def test_a_file_that_was_made_goes_again_unless_something_else_is_in_it(tmp_path: Path) -> None:
    for client in ALL:
        made = prepared(tmp_path / client)
        proposal = made.connections.proposed(client)
        written = made.connections.write(proposal)
        assert (proposal.present, proposal.before, written.copy) == (False, None, None)
        assert made.file(client).read_text() == proposal.alone
        removal = made.disconnect(client)
        assert removal.as_before
        assert not made.file(client).exists()

    kept = prepared(tmp_path / "kept")
    kept.connections.write(kept.connections.proposed("cursor"))
    written_anew(kept.file("cursor"), more=1)
    removal = kept.disconnect("cursor")
    assert json.loads(kept.file("cursor").read_text()) == {"more": 1}


def test_a_link_leads_to_the_file_that_is_written_with_its_mode(tmp_path: Path) -> None:
    made = prepared(tmp_path, "zed")
    file, dotfiles = made.file("zed"), tmp_path / "dotfiles.json"
    file.rename(dotfiles)
    file.symlink_to(dotfiles)
    dotfiles.chmod(0o640)
    before = dotfiles.read_bytes()

    made.connections.write(made.connections.proposed("zed"))
    connected = dotfiles.read_text()
    made.disconnect("zed")

    assert "portico" in connected
    assert file.is_symlink()
    assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o640
    assert dotfiles.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_stays_its_owner(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor")
    os.chown(made.file("cursor"), 12345, 12345)

    made.connections.write(made.connections.proposed("cursor"))

    state = made.file("cursor").stat()
    assert (state.st_uid, state.st_gid) == (12345, 12345)


def test_a_file_that_somebody_writes_in_between_is_left(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor")
    proposal = made.connections.proposed("cursor")
    made.file("cursor").write_text("{}")

    with pytest.raises(ClientFileMoved):
        made.connections.write(proposal)

    assert made.file("cursor").read_text() == "{}"
    made.connections.write(made.connections.proposed("cursor"))
    [removal] = made.connections.ours("cursor")
    made.file("cursor").write_text('{"mine": 1}')
    with pytest.raises(ClientFileMoved):
        made.connections.take_out(removal)
    assert made.file("cursor").read_text() == '{"mine": 1}'


@pytest.mark.requirement("first-hour:connect:malformed")
@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b'{\n  "mcpServers": {"a" 1}\n}', ClientFileMalformed),
        (b'{\n  "mcpServers": {,}\n}', EditUnsafe),
        (b'{"mcpServers": "no"}', ClientFileMalformed),
        (b"\xff\xfe{\x00}\x00", ClientFileUnreadable),
        (b" " * 5_000_001, ClientFileUnreadable),
    ],
)
def test_a_file_that_cannot_be_understood_is_never_written(
    tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    made = prepared(tmp_path, "cursor")
    made.file("cursor").write_bytes(content)

    with pytest.raises(error):
        made.connections.proposed("cursor")
    if error is not EditUnsafe:
        with pytest.raises(error):
            made.connections.ours("cursor")
        assert made.connections.found()[2].problem is not None

    assert made.file("cursor").read_bytes() == content


def test_another_entry_of_that_name_comes_back(tmp_path: Path) -> None:
    made = prepared(tmp_path)
    made.file("cursor").parent.mkdir(parents=True)
    before = '{"mcpServers": {"portico": {"command": "italian-porch"}}}'
    made.file("cursor").write_text(before)

    proposal = made.connections.proposed("cursor")
    not_ours = made.connections.ours("cursor")
    made.connections.write(proposal)
    made.disconnect("cursor")

    assert proposal.status is EntryStatus.FOREIGN
    assert not_ours == []
    assert made.file("cursor").read_text() == before


@pytest.mark.parametrize("touched", [False, True])
def test_an_older_entry_of_ours_does_not_come_back(tmp_path: Path, touched: bool) -> None:
    made = prepared(tmp_path)
    made.file("cursor").parent.mkdir(parents=True)
    made.file("cursor").write_text("{}")
    made.connections.write(made.connections.proposed("cursor"))
    moved = made.file("cursor").read_text().replace(PROGRAM, "/elsewhere/portico")
    made.file("cursor").write_text(moved if not touched else moved.replace("{", "{ ", 1))
    proposal = made.connections.proposed("cursor")
    made.connections.write(proposal)

    made.disconnect("cursor")

    assert proposal.status is EntryStatus.OTHERWISE
    assert made.file("cursor").read_text().replace(" ", "") == "{}"


def test_what_was_before_the_first_time_is_what_is_put_back(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor")
    before = made.file("cursor").read_bytes()
    made.connections.write(made.connections.proposed("cursor"))
    made.connections.write(made.connections.proposed("cursor", key="ptc_1_2"), "1")

    removal = made.disconnect("cursor")

    assert removal.as_before
    assert removal.key == "1"
    assert made.file("cursor").read_bytes() == before


def test_an_entry_without_a_record_is_taken_out_too_however_often_it_is_there(
    tmp_path: Path,
) -> None:
    made = prepared(tmp_path)
    made.file("windsurf").parent.mkdir(parents=True)
    ours = '"portico": {"command": "uvx", "args": ["portico", "stdio"]}'
    made.file("windsurf").write_text(f'{{"mcpServers": {{{ours}, "a": {{}}, {ours}}}}}')

    made.disconnect(None)

    assert made.file("windsurf").read_text() == '{"mcpServers": {"a": {}}}'


def test_an_entry_that_somebody_has_changed_is_said_to_be(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor")
    made.connections.write(made.connections.proposed("cursor"))
    text = made.file("cursor").read_text().replace(PROGRAM, "/bin/other")
    made.file("cursor").write_text(text.replace('"stdio"', '"x"'))

    [removal] = made.connections.ours("cursor")

    assert removal.foreign


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "zed", "codex", "gemini"])
def test_a_project_has_an_entry_of_its_own(tmp_path: Path, client: str) -> None:
    made = prepared(tmp_path, client)
    (tmp_path / "project").mkdir()

    proposal = made.connections.proposed(client, "project")
    made.connections.write(proposal)
    [removal] = made.connections.ours(client)

    assert proposal.file.startswith(str(tmp_path / "project/."))
    assert any("path of this machine" in note for note in proposal.notes)
    assert removal.file == proposal.file


@pytest.mark.parametrize("client", ["claude-desktop", "windsurf"])
def test_a_client_without_project_files_says_so(tmp_path: Path, client: str) -> None:
    with pytest.raises(ClientCannot):
        prepared(tmp_path).connections.proposed(client, "project")


def test_a_key_stands_in_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    made = prepared(tmp_path, "gemini")
    made.file("gemini").chmod(0o644)
    secret = "ptc_0123_abcdefghijklmnop"

    new = made.connections.proposed("cursor", key=secret)
    quiet = made.connections.write(new, "0123")
    loud = made.connections.write(made.connections.proposed("gemini", key=secret), "0123")

    assert stat.S_IMODE(made.file("cursor").stat().st_mode) == 0o600
    assert secret in made.file("cursor").read_text()
    assert secret not in new.diff
    assert quiet.notes == []
    assert "can read the key" in loud.notes[0]
    assert made.connections.proposed("cursor", key="KEY").status is EntryStatus.SAME
    with pytest.raises(ClientCannot):
        made.connections.proposed("claude-desktop", key=secret)


def test_what_would_be_listed_twice_is_named(tmp_path: Path) -> None:
    made = prepared(tmp_path, "cursor", "zed")

    twice = made.connections.proposed("cursor").also_listed

    assert twice == ["figma"]
    assert made.connections.proposed("zed").also_listed == []


def test_what_keeps_a_client_from_using_it_is_said(tmp_path: Path) -> None:
    made = prepared(tmp_path)
    for edition in ("Code", "VSCodium"):
        (tmp_path / ".config" / edition / "User").mkdir(parents=True)
    made.file("gemini").parent.mkdir()
    made.file("gemini").write_text('{"mcp": {"allowed": ["a"]}}')

    gemini = made.connections.proposed("gemini").notes
    vscode = made.connections.proposed("vscode").notes

    assert any("switches the entry off" in note for note in gemini)
    assert any("VSCodium" in note for note in vscode)
    assert "it is a test" in vscode


def test_a_client_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownClient) as refused:
        prepared(tmp_path).connections.proposed("emacs")

    assert refused.value.fix is not None
    assert "claude-code" in refused.value.fix
