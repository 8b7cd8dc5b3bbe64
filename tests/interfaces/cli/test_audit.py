"""The audit from the command line, and checking it where no server is."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.guard.core.audit import (
    BEGINNING,
    AuditEntry,
    Head,
    Link,
    act_text,
    entry_text,
    head_line,
    link_line,
    linked,
)
from portico.interfaces.cli.audit import entry_line
from portico.interfaces.cli.errors import Exit
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING as NOW
from tests.interfaces.cli.command_line import CommandLine, Outcome
from tests.interfaces.cli.scripted_server import Streamed

ANA = a_person("ana")
SOUND = {
    "sound": True,
    "checked": 3,
    "last": 3,
    "hash": "00",
    "heads": 1,
    "compared": 1,
    "found": 0,
    "findings": [],
}


def a_chain(length: int = 5) -> list[Link]:
    links: list[Link] = []
    last = BEGINNING
    for number in range(1, length + 1):
        act = act_text(ANA, AuditEntry(action="key.issued", subject=f"é{number}"))
        links.append(linked(last, entry_text(act, NOW, ANA.id, number, ANA.space)))
        last = Head(number, links[-1].hash)
    return links


CHAIN = a_chain()
LINES = [link_line(link).encode() for link in CHAIN]


def heads(cli: CommandLine, *links: Link) -> Path:
    lines = [head_line(ANA.space, Head(link.number, link.hash), NOW) for link in links]
    other = head_line(a_space("other").id, Head(99, bytes(32)), NOW)
    return cli.file("heads.ndjson", "".join([other, *lines, '{"half a li']))


def verified(cli: CommandLine, lines: Sequence[bytes], option: str = "") -> Outcome:
    """Here, from a file."""
    return cli(f"audit verify --file {cli.file('audit.ndjson', b''.join(lines))} {option}")


def test_a_whole_export_is_sound_and_it_is_said_what_nobody_can_tell(cli: CommandLine) -> None:
    got = verified(cli, LINES)

    assert got.code == Exit.OK
    assert got.out.startswith("Sound: 5 entries checked, the last is 5.")
    assert "whether its end was cut off" in " ".join(got.out.split())


def test_a_cut_export_is_found_out_by_heads_kept_elsewhere(cli: CommandLine) -> None:
    got = verified(cli, LINES[:4], f"--heads {heads(cli, CHAIN[1], CHAIN[4])}")
    other = verified(cli, LINES[:4], f"--heads {heads(cli, CHAIN[4])}")

    assert (got.code, other.code) == (Exit.FAILED, Exit.FAILED)
    assert got.lines == [
        "NOT SOUND: 4 entries checked, 1 finding.",
        "  5: truncated. 4 is the last, and 5 was exported as the head.",
        "It agrees with 1 of the 2 heads that it was compared with.",
    ]
    assert "It agrees with 0 of the 1 heads that it was compared with." in other.lines


def test_a_line_that_cannot_be_read_is_an_entry_that_was_changed(cli: CommandLine) -> None:
    got = verified(cli, [*LINES[:2], b"\xff{\n", *LINES[3:]], "--json")

    assert got.code == Exit.FAILED
    assert {it["number"] for it in got.json["findings"]} == {3, 4}


def test_a_first_line_that_cannot_be_read_needs_heads_to_say_whose_it_is(cli: CommandLine) -> None:
    lines = [b"{\n", *LINES[1:]]
    kept = cli.file("one.ndjson", head_line(ANA.space, Head(5, CHAIN[4].hash), NOW))

    told = verified(cli, lines, f"--heads {kept}")

    assert verified(cli, lines).code == Exit.USAGE
    assert told.code == Exit.FAILED
    assert "1: changed" in told.out


@pytest.mark.parametrize("content", ["", "nothing of the kind\n"])
@pytest.mark.parametrize("words", ["verify --file", "verify --heads"])
def test_what_is_no_audit_is_refused(cli: CommandLine, content: str, words: str) -> None:
    got = cli(f"audit {words} {cli.file('file', content)}")

    assert got.code == Exit.USAGE
    assert "bad_usage" in got.err


def test_the_server_checks_its_own_unless_told_otherwise(cli: CommandLine) -> None:
    steps = [json.dumps(step) + "\n" for step in ({"checked": 2, "of": 3}, {"verdict": SOUND})]

    got = cli("audit verify", {"GET /audit/verify": Streamed(["".join(steps)])})
    broken_off = cli("audit verify", {"GET /audit/verify": Streamed(steps[:1])})

    assert (got.code, broken_off.code) == (Exit.OK, Exit.NOT_RUNNING)
    assert got.out.startswith("Sound: 3 entries checked")


def test_with_heads_alone_the_server_s_export_is_checked_here(cli: CommandLine) -> None:
    said = Streamed([b"".join(LINES[:3]).decode()])

    got = cli(f"audit verify --heads {heads(cli, CHAIN[4])}", {"GET /audit/export": said})

    assert got.code == Exit.FAILED
    assert "4: truncated" in got.out


def test_an_export_goes_to_a_file_that_only_its_owner_reads(cli: CommandLine) -> None:
    lines = b"".join(LINES).decode()
    target = cli.root / "out.ndjson"
    export = f"audit export {target}"

    assert cli("audit export", {"GET /audit/export": Streamed([lines])}).out == lines
    written = cli(export, {"GET /audit/export": Streamed([lines])})
    assert written.out == f"{target} (5 entries)\n"
    assert (target.read_text(), target.stat().st_mode & 0o777) == (lines, 0o600)

    target.write_text("of last year")
    refused = cli(export, {"GET /audit/export": {}})
    assert (refused.code, refused.asked) == (Exit.FAILED, [])
    assert "--replace" in refused.err
    assert target.read_text() == "of last year"
    assert cli(f"{export} --replace", {"GET /audit/export": {}}).code == Exit.OK
    assert target.read_text() == "{}\n"


def an_entry(number: int, **act: object) -> dict[str, object]:
    usual = {"action": "key.issued", "subject": "k1", "name": "ana"}
    return {"number": number, "at": "2026-01-01T12:00:00Z", "by": "prn_1", "act": usual | act}


def test_the_latest_are_told_oldest_first_without_what_would_move_the_cursor(
    cli: CommandLine,
) -> None:
    last, *first = (an_entry(number, reason="so\x1b it is") for number in (9, 2, 1))
    pages = {
        "GET /audit?limit=100": {"data": [last], "next": "a"},
        "GET /audit?limit=100&after=a": {"data": [], "next": "b"},
        "GET /audit?limit=100&after=b": {"data": first, "next": None},
    }

    lines = cli("audit tail -n 2", pages).lines

    assert [line.split()[0] for line in lines] == ["2", "9"]
    assert all(line.endswith("ana  key.issued  k1  so� it is") for line in lines)
    assert cli("audit tail -n 1 --json", pages).json["number"] == 9


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
    assert entry_line(an_entry(1, facts=facts)).endswith(f"  {told}")
