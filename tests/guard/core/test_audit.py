"""A chain tells of whatever is done to it; what it cannot tell takes a head. Lines of both."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from inline_snapshot import snapshot

from portico.guard.core.audit import (
    BEGINNING,
    LONGEST,
    AuditEntry,
    Fault,
    Head,
    Link,
    Verdict,
    act_text,
    entry_text,
    head_from,
    head_line,
    link_from,
    link_line,
    linked,
    space_of,
    verdict_json,
    verify,
)
from portico.kernel.ids import ContextId, SpaceId
from portico.kernel.json import NotCanonical
from portico.testing.guard import a_person, a_space
from portico.testing.memory_store import BEGINNING as NOW
from portico.testing.memory_store import SeededEntropy

ANA = a_person("ana")
ELSEWHERE = a_space("elsewhere").id
LENGTH = 1_000


def an_entry(subject: str = "files.read", **facts: int) -> AuditEntry:
    return AuditEntry(action="call.allowed", subject=subject, rule="default:reads", details=facts)


def text(number: int, entry: AuditEntry | None = None, space: SpaceId = ANA.space) -> bytes:
    act = act_text(ANA, entry or an_entry(n=number))
    return entry_text(act, NOW + timedelta(seconds=number), ANA.id, number, space)


def chain(length: int, space: SpaceId = ANA.space) -> list[Link]:
    return chained([text(number, space=space) for number in range(1, length + 1)])


def chained(texts: Sequence[bytes]) -> list[Link]:
    links: list[Link] = []
    for each in texts:
        links.append(linked(head(links), each))
    return links


def head(links: Sequence[Link]) -> Head:
    return Head(links[-1].number, links[-1].hash) if links else BEGINNING


def faults(verdict: Verdict) -> list[tuple[Fault, int]]:
    return [(it.fault, it.number) for it in verdict.findings]


CHAIN = chain(LENGTH)


def test_an_entry_is_one_canonical_text() -> None:
    caller = replace(ANA, key="k1", context=ContextId.mint(NOW, SeededEntropy("task")))
    entry = AuditEntry(
        action="key.issued", subject="ké\0y", reason="why", details={"b": [1, None], "a": 1.0}
    )

    told = entry_text(act_text(caller, entry), NOW, caller.id, 7, caller.space).decode()

    assert told == snapshot(
        '{"act":{"action":"key.issued","facts":{"a":1,"b":[1,null]},"key":"k1","kind":"person","name":"ana","reason":"why","subject":"ké\\u0000y","task":"ctx_01kdvdna00e00beh5wahzeda89"},"at":"2026-01-01T00:00:00.000000Z","by":"019b76da-a800-7000-836c-b589074b0911","number":7,"space":"019b76da-a800-7000-aed7-d88c4ccb770b"}'
    )
    assert (
        json.dumps(
            json.loads(told), ensure_ascii=False, separators=(",", ":"), sort_keys=True
        ).replace("1.0", "1")
        == told
    )


def test_facts_that_are_too_long_are_told_by_their_hash() -> None:
    told = json.loads(
        act_text(ANA, AuditEntry(action="a", subject="s", details={"x": "y" * LONGEST}))
    )

    assert told["facts"] == snapshot(
        {
            "too_long": {
                "bytes": 16392,
                "sha256": "f244ed79ceab583827f510406855250ca8b70c8c78c647a33395b4245b42b39c",
            }
        }
    )


def test_what_has_no_canonical_text_is_refused() -> None:
    with pytest.raises(NotCanonical):
        act_text(ANA, AuditEntry(action="a", subject="\ud800"))


def test_an_empty_chain_and_one_as_it_was_written_are_sound() -> None:
    assert verify([], ANA.space) == Verdict(
        checked=0, last=BEGINNING, found=0, findings=(), heads=0
    )

    verdict = verify(CHAIN, ANA.space, heads=[head(CHAIN[:500]), head(CHAIN)])

    assert verdict == Verdict(
        checked=LENGTH, last=head(CHAIN), found=0, findings=(), heads=2, compared=2
    )
    assert verdict.sound


@pytest.mark.parametrize("place", [0, 1, 499, 999])
def test_a_changed_entry_is_found_and_if_it_is_made_to_fit_its_successor_tells(place: int) -> None:
    before, link, after = CHAIN[:place], CHAIN[place], CHAIN[place + 1 :]
    other = link.text.replace(b"read", b"rend")
    fitting = linked(head(before), other)

    changed = verify([*before, replace(link, text=other), *after], ANA.space)
    assert faults(changed) == [(Fault.CHANGED, place + 1)]
    fits = verify([*before, fitting, *after], ANA.space)
    assert faults(fits) == [(Fault.CHANGED, place + 2)] * bool(after)


@pytest.mark.requirement("audit:tamper:delete")
@pytest.mark.parametrize("number", [1, 2, 500, 999])
def test_an_entry_that_is_left_out_is_missed(number: int) -> None:
    verdict = verify([link for link in CHAIN if link.number != number], ANA.space)

    assert faults(verdict) == [(Fault.MISSING, number), (Fault.CHANGED, number + 1)]


def test_several_that_are_left_out_are_missed_as_one() -> None:
    verdict = verify([*CHAIN[:10], *CHAIN[20:]], ANA.space)

    assert faults(verdict) == [(Fault.MISSING, 11), (Fault.CHANGED, 21)]
    assert verdict.findings[0].told == "11 to 20 are not there."


@pytest.mark.requirement("audit:tamper:delete")
def test_deleting_and_closing_the_gap_is_found_at_the_gap() -> None:
    renumbered = [replace(link, number=link.number - 1) for link in CHAIN[500:]]

    verdict = verify([*CHAIN[:499], *renumbered], ANA.space)

    assert faults(verdict)[:2] == [(Fault.MISPLACED, 500), (Fault.CHANGED, 500)]
    assert verdict.found == 501


@pytest.mark.requirement("audit:tamper:reorder")
@pytest.mark.parametrize("place", [0, 1, 499, 998])
def test_two_that_change_places_are_found(place: int) -> None:
    links = [*CHAIN]
    links[place], links[place + 1] = links[place + 1], links[place]

    verdict = verify(links, ANA.space)

    assert not verdict.sound
    assert {Fault.CHANGED, Fault.MISPLACED} <= {it.fault for it in verdict.findings}


@pytest.mark.requirement("audit:tamper:reorder")
def test_two_that_change_places_under_each_other_s_numbers_are_found() -> None:
    one, other = CHAIN[10], CHAIN[20]
    links = [*CHAIN]
    links[10], links[20] = replace(other, number=11), replace(one, number=21)

    verdict = verify(links, ANA.space)

    assert {it.number for it in verdict.findings} == {11, 12, 21, 22}


@pytest.mark.requirement("audit:tamper:insert")
def test_one_that_is_put_in_is_found() -> None:
    forged = linked(head(CHAIN[:500]), text(501, an_entry("mail.send")))
    moved = [replace(link, number=link.number + 1) for link in CHAIN[500:]]

    assert faults(verify([*CHAIN[:500], forged, *CHAIN[500:]], ANA.space)) == [
        (Fault.MISPLACED, 501),
        (Fault.CHANGED, 501),
    ]
    assert faults(verify([*CHAIN[:500], forged, *moved], ANA.space))[:2] == [
        (Fault.MISPLACED, 502),
        (Fault.CHANGED, 502),
    ]


@pytest.mark.requirement("audit:tamper:insert")
def test_one_that_is_there_twice_is_found() -> None:
    verdict = verify([*CHAIN[:10], CHAIN[9], *CHAIN[10:]], ANA.space)

    assert faults(verdict) == [(Fault.MISPLACED, 10), (Fault.CHANGED, 10)]


@pytest.mark.requirement("audit:tamper:truncate")
def test_an_end_that_was_cut_off_is_told_by_a_head_and_by_nothing_else() -> None:
    cut = CHAIN[:900]

    assert verify(cut, ANA.space).sound
    assert verify(cut, ANA.space, heads=[head(CHAIN[:900])]).sound
    verdict = verify(cut, ANA.space, heads=[head(CHAIN[:500]), head(CHAIN)])
    assert faults(verdict) == [(Fault.TRUNCATED, 901)]
    assert verdict.heads == 1


def test_a_chain_made_anew_is_told_by_a_head_and_by_nothing_else() -> None:
    texts = [text(number, an_entry("nothing", n=number)) for number in range(1, LENGTH + 1)]
    links = chained(texts)

    assert verify(links, ANA.space).sound
    verdict = verify(links, ANA.space, heads=[head(CHAIN[:500]), head(CHAIN)])
    assert faults(verdict) == [(Fault.REWRITTEN, 500), (Fault.REWRITTEN, LENGTH)]


def test_heads_that_contradict_each_other_cannot_both_be_true() -> None:
    other = Head(500, bytes(32))

    assert faults(verify(CHAIN, ANA.space, heads=[head(CHAIN[:500]), other])) == [
        (Fault.REWRITTEN, 500)
    ]


def test_another_space_s_chain_is_not_this_one() -> None:
    assert faults(verify(chain(1, ELSEWHERE), ANA.space)) == [(Fault.MISPLACED, 1)]


def test_a_part_follows_from_where_it_starts() -> None:
    verdict = verify(
        CHAIN[500:], ANA.space, start=head(CHAIN[:500]), heads=[head(CHAIN[:100]), head(CHAIN)]
    )

    assert (verdict.sound, verdict.checked, verdict.heads) == (True, 500, 1)
    assert not verify(CHAIN[500:], ANA.space, start=head(CHAIN[:499])).sound


def test_the_first_findings_are_told_and_all_are_counted() -> None:
    verdict = verify([replace(link, hash=bytes(32)) for link in CHAIN], ANA.space)

    assert (verdict.found, len(verdict.findings)) == (LENGTH, 20)


def test_an_entry_says_whose_it_is() -> None:
    assert space_of(CHAIN[0].text) == ANA.space
    for unreadable in (b"", b"[]", b"{}", b'{"space":1}', b'{"space":"x"}', b"\xff"):
        assert space_of(unreadable) is None


SPACE = a_space().id
HEAD = Head(7, bytes(range(32)))


def test_a_head_and_an_entry_come_back_from_their_lines_to_the_byte() -> None:
    line = head_line(SPACE, HEAD, NOW)

    assert line.endswith("}\n")
    assert head_from(line) == (SPACE, HEAD)

    link = Link(3, '{"act":{"subject":"é\\u0000\u2028\\n"}}'.encode(), HEAD.hash)

    line = link_line(link)

    assert line.count("\n") == 1
    assert link_from(line.encode()) == link

    assert link_from(b"\xff\xfe") is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        json.dumps({"space": "spc_x", "number": 1, "hash": "00", "entry": 1}),
        json.dumps({"space": str(SPACE), "number": "1", "hash": "00", "entry": "x"}),
        json.dumps({"space": str(SPACE), "number": True, "hash": "00", "entry": "x"}),
        json.dumps({"space": str(SPACE), "number": 1, "hash": "zz", "entry": "x"}),
        json.dumps({"space": 1, "number": 1, "hash": 1, "entry": "x"}),
    ],
)
def test_what_is_neither_is_neither(line: str) -> None:
    assert head_from(line) is None
    assert link_from(line.encode()) is None


def test_a_verdict_is_told_whole() -> None:
    verdict = verify([linked(BEGINNING, b"x")], SPACE)

    told = verdict_json(verdict)

    assert told["sound"] is False
    assert told["findings"] == [
        {"fault": "misplaced", "number": 1, "told": verdict.findings[0].told}
    ]
