"""The audit from the command line, and checking it where no server is."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.faces.cli.app import run
from portico.faces.cli.audit_words import entry_line
from portico.faces.cli.exits import Exit
from portico.guard.core.audit_chain import BEGINNING, Head, Link, act_text, entry_text, linked
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.audit_heads import head_line, link_line
from portico.testing.guard import a_person, a_space
from portico.testing.kernel import BEGINNING as NOW
from tests.faces.cli.house import ScriptedHouse
from tests.faces.cli.scripted_server import ScriptedServer, Streamed, answering

Captured = pytest.CaptureFixture[str]
ANA = a_person("ana")
SOUND = {
    "sound": True,
    "checked": 3,
    "last": 3,
    "hash": "00",
    "heads": 1,
    "compared": 1,
    "found": 0,
}


def a_chain(length: int = 5) -> list[Link]:
    links: list[Link] = []
    last = BEGINNING
    for number in range(1, length + 1):
        act = act_text(ANA, AuditEntry(action="key.issued", subject=f"é{number}"))
        links.append(linked(last, entry_text(act, NOW, ANA.id, number, ANA.space)))
        last = Head(number, links[-1].hash)
    return links


def an_export(folder: Path, links: Sequence[Link]) -> str:
    file = folder / "audit.ndjson"
    file.write_text("".join(map(link_line, links)))
    return str(file)


def heads(folder: Path, *links: Link) -> str:
    file = folder / "heads.ndjson"
    lines = [head_line(ANA.space, Head(link.number, link.hash), NOW) for link in links]
    other = head_line(a_space("other").id, Head(99, bytes(32)), NOW)
    file.write_text("".join([other, *lines, '{"half a li']))
    return str(file)


@pytest.fixture
def house(tmp_path: Path) -> ScriptedHouse:
    house = ScriptedHouse(tmp_path)
    house.whereabouts().key_file.write_text("ptc_mine")
    return house


def at(house: ScriptedHouse, server: ScriptedServer) -> ScriptedHouse:
    house.remote = server.url
    return house


def an_entry(number: int, action: str = "key.issued") -> dict[str, object]:
    act = {"action": action, "subject": "k1", "name": "ana", "reason": "so\x1b it is"}
    return {"number": number, "at": "2026-01-01T12:00:00Z", "by": "prn_1", "act": act, "hash": "0"}


def test_a_whole_export_is_sound_and_it_is_said_what_nobody_can_tell(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    file = an_export(tmp_path, a_chain())

    assert run(house, ["audit", "verify", "--file", file]) == Exit.OK

    told = capsys.readouterr().out
    assert told.startswith("Sound: 5 entries checked, the last is 5.")
    assert "whether its end was cut off" in " ".join(told.split())


def test_a_cut_export_is_found_out_by_heads_kept_elsewhere(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    chain = a_chain()
    file, kept = an_export(tmp_path, chain[:4]), heads(tmp_path, chain[1], chain[4])

    code = run(house, ["audit", "verify", "--file", file, "--heads", kept])

    assert code == Exit.FAILED
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "NOT SOUND: 4 entries checked, 1 finding.",
        "  5: truncated. 4 is the last, and 5 was exported as the head.",
        "It agrees with 1 of the 2 heads that it was compared with.",
    ]


def test_a_line_that_cannot_be_read_is_an_entry_that_was_changed(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    file = an_export(tmp_path, a_chain())
    lines = Path(file).read_bytes().splitlines()
    Path(file).write_bytes(b"\n".join([*lines[:2], b"\xff{", *lines[3:]]))

    assert run(house, ["audit", "verify", "--file", file, "--json"]) == Exit.FAILED

    told = json.loads(capsys.readouterr().out)
    assert {it["number"] for it in told["findings"]} == {3, 4}


def test_a_first_line_that_cannot_be_read_needs_heads_to_say_whose_it_is(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    chain = a_chain()
    file = an_export(tmp_path, chain)
    lines = Path(file).read_bytes().splitlines()
    Path(file).write_bytes(b"\n".join([b"{", *lines[1:]]))
    kept = tmp_path / "one.ndjson"
    kept.write_text(head_line(ANA.space, Head(5, chain[4].hash), NOW))

    assert run(house, ["audit", "verify", "--file", file]) == Exit.USAGE
    code = run(house, ["audit", "verify", "--file", file, "--heads", str(kept)])
    assert code == Exit.FAILED
    assert "1: changed" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "nothing of the kind\n"])
def test_what_is_no_audit_is_refused(
    house: ScriptedHouse, tmp_path: Path, content: str, capsys: Captured
) -> None:
    file = tmp_path / "file"
    file.write_text(content)

    assert run(house, ["audit", "verify", "--file", str(file)]) == Exit.USAGE
    assert run(house, ["audit", "verify", "--heads", str(file)]) == Exit.USAGE
    assert "bad_usage" in capsys.readouterr().err


def test_the_server_checks_its_own_unless_told_otherwise(
    house: ScriptedHouse, capsys: Captured
) -> None:
    steps = [{"checked": 2, "of": 3}, {"verdict": {**SOUND, "findings": []}}]
    said = Streamed(["".join(json.dumps(step) + "\n" for step in steps)])
    with answering({"GET /audit/verify": said}) as server:
        assert run(at(house, server), ["audit", "verify"]) == Exit.OK

    assert capsys.readouterr().out.startswith("Sound: 3 entries checked")


def test_a_server_that_breaks_off_is_not_believed(house: ScriptedHouse) -> None:
    with answering({"GET /audit/verify": Streamed(['{"checked": 2, "of": 3}\n'])}) as server:
        assert run(at(house, server), ["audit", "verify"]) == Exit.NOT_RUNNING


def test_with_heads_alone_the_server_s_export_is_checked_here(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    chain = a_chain()
    said = Streamed(["".join(map(link_line, chain[:3]))])
    with answering({"GET /audit/export": said}) as server:
        command = ["audit", "verify", "--heads", heads(tmp_path, chain[4])]
        assert run(at(house, server), command) == Exit.FAILED

    assert "4: truncated" in capsys.readouterr().out


def test_an_export_goes_to_a_file_that_only_its_owner_reads(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    lines = "".join(map(link_line, a_chain()))
    target = tmp_path / "out.ndjson"
    with answering({"GET /audit/export": Streamed([lines, lines])}) as server:
        at(house, server)
        assert run(house, ["audit", "export", str(target)]) == Exit.OK
        assert run(house, ["audit", "export"]) == Exit.OK

    assert capsys.readouterr().out == f"{target} (5 entries)\n{lines}"
    assert (target.read_text(), target.stat().st_mode & 0o777) == (lines, 0o600)


def test_the_latest_are_told_oldest_first_without_what_would_move_the_cursor(
    house: ScriptedHouse, capsys: Captured
) -> None:
    pages = {
        "GET /audit?limit=100": {"data": [an_entry(9)], "next": "a"},
        "GET /audit?limit=100&after=a": {"data": [], "next": "b"},
        "GET /audit?limit=100&after=b": {"data": [an_entry(2), an_entry(1)], "next": None},
    }
    with answering(pages) as server:
        assert run(at(house, server), ["audit", "tail", "-n", "2"]) == Exit.OK
        assert run(at(house, server), ["audit", "tail", "-n", "1", "--json"]) == 0

    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "9"]
    assert all(line.endswith("ana  key.issued  k1  so� it is") for line in lines)
    assert json.loads(last)["number"] == 9


def test_a_negative_number_is_refused(house: ScriptedHouse) -> None:
    assert run(house, ["audit", "tail", "-n", "-1"]) == Exit.USAGE


def test_an_export_replaces_no_file_unless_somebody_says_so(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    kept = tmp_path / "kept.ndjson"
    kept.write_text("of last year")
    with answering({"GET /audit/export": {}}) as server:
        code = run(at(house, server), ["audit", "export", str(kept)])
        assert (code, server.asked, kept.read_text()) == (Exit.FAILED, [], "of last year")
        assert "--replace" in capsys.readouterr().err
        assert run(house, ["audit", "export", str(kept), "--replace"]) == Exit.OK

    assert kept.read_text() == "{}\n"


def test_heads_that_it_does_not_agree_with_were_compared_all_the_same(
    house: ScriptedHouse, tmp_path: Path, capsys: Captured
) -> None:
    chain = a_chain()
    file, kept = an_export(tmp_path, chain[:4]), heads(tmp_path, chain[4])

    assert run(house, ["audit", "verify", "--file", file, "--heads", kept]) == Exit.FAILED

    told = capsys.readouterr().out
    assert "It agrees with 0 of the 1 heads that it was compared with." in told
    assert "no head" not in told


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"answer": "once"}, "yes (once)"),
        ({"answer": "reject"}, "no"),
        ({"was": "unknown", "now": "local_read"}, "unknown → local_read"),
        (
            {"was": {"label": "public", "trusted": False}, "now": {"label": "team"}},
            "label: public → team",
        ),
        ({"was": {"roles": ["viewer"]}, "roles": ["admin"]}, "roles: ['viewer'] → ['admin']"),
        ({"was": "old name"}, "k1"),
        ("odd", "k1"),
    ],
)
def test_what_was_answered_and_what_became_of_what_is_in_the_line(facts: object, told: str) -> None:
    entry = an_entry(1)
    entry["act"] = {"action": "a.b", "subject": "k1", "name": "ana", "facts": facts}

    assert entry_line(entry).endswith(f"  {told}")
