"""What must hold of the journals of all agents, and of what was there in the end."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fact = Mapping[str, Any]
Journals = Mapping[str, Sequence[Fact]]


@dataclass(frozen=True)
class Stored:
    """A message as it is in the end."""

    id: str
    sender: str
    number: int


Truth = Mapping[str, Sequence[Stored]]
"""In order, of each conversation."""


def faults(journals: Journals, truth: Truth) -> list[str]:
    """All that is wrong, in words."""
    found = [*_doubled(truth), *_out_of_order(truth), *_from_nowhere(journals, truth)]
    for name, journal in journals.items():
        found += [f"{name}: {fault}" for fault in _lost(name, journal, truth)]
        found += [f"{name}: {fault}" for fault in _misread(journal, truth)]
        found += [f"{name}: {fault}" for fault in _unmarked(name, journal, truth)]
    return found


def _doubled(truth: Truth) -> Iterator[str]:
    seen = Counter((each.sender, each.number) for said in truth.values() for each in said)
    for (sender, number), often in seen.items():
        if often > 1:
            yield f"{sender} {number} is there {often} times"


def _out_of_order(truth: Truth) -> Iterator[str]:
    for where, said in truth.items():
        last: dict[str, int] = {}
        for each in said:
            if each.number <= last.get(each.sender, -1):
                yield f"{where}: {each.sender} {each.number} comes after {last[each.sender]}"
            last[each.sender] = each.number


def _from_nowhere(journals: Journals, truth: Truth) -> Iterator[str]:
    meant = {
        (name, fact["n"], fact["where"])
        for name, journal in journals.items()
        for fact in journal
        if fact["what"] == "saying"
    }
    for where, said in truth.items():
        for each in said:
            if (each.sender, each.number, where) not in meant:
                yield f"{where}: nobody has said {each.sender} {each.number}"


def _lost(name: str, journal: Sequence[Fact], truth: Truth) -> Iterator[str]:
    there = {
        (where, each.number): each.id
        for where, said in truth.items()
        for each in said
        if each.sender == name
    }
    for fact in journal:
        if fact["what"] == "said":
            stored = there.get((fact["where"], fact["n"]))
            if stored is None:
                yield f"{fact['n']} was acknowledged and is not there"
            elif stored != fact["id"]:
                yield f"{fact['n']} was acknowledged as {fact['id']}, and is {stored}"


def _misread(journal: Sequence[Fact], truth: Truth) -> Iterator[str]:
    """Page after page, whatever happened in between: all of it, once, in the one order."""
    read: defaultdict[str, list[str]] = defaultdict(list)
    for fact in journal:
        if fact["what"] != "read":
            continue
        if fact["reset"]:
            yield "was told to begin anew, although nothing of it has changed"
        for where, message, _ in fact["told"]:
            read[where].append(message)
    finished = any(fact["what"] == "finished" for fact in journal)
    for where, ids in read.items():
        true = [each.id for each in truth.get(where, ())]
        if ids != (true if finished else true[: len(ids)]):
            missed, twice = len(set(true) - set(ids)), len(ids) - len(set(ids))
            yield f"read {where} otherwise: missed {missed}, twice {twice}"


def _unmarked(name: str, journal: Sequence[Fact], truth: Truth) -> Iterator[str]:
    """What was marked once stays so: no more is unread than others had said since, up to what was
    read next."""
    reached: Counter[str] = Counter()
    at: dict[str, Counter[str]] = {}
    marked: Counter[str] = Counter()
    seen: list[tuple[Mapping[str, int], Counter[str]]] = []
    for fact in journal:
        match fact["what"]:
            case "read":
                reached.update(where for where, _, _ in fact["told"])
                at[fact["cursor"]] = Counter(reached)
                if fact["end"]:
                    for unread, then in seen:
                        yield from _too_many(name, unread, then, reached, truth)
                    seen.clear()
            case "marked":
                marked |= at[fact["cursor"]]
            case "unread":
                seen.append((fact["unread"], Counter(marked)))
            case _:
                pass


def _too_many(
    name: str,
    unread: Mapping[str, int],
    marked: Mapping[str, int],
    reached: Mapping[str, int],
    truth: Truth,
) -> Iterator[str]:
    for where, many in unread.items():
        since = truth[where][marked.get(where, 0) : reached.get(where, 0)]
        most = sum(each.sender != name for each in since)
        if many > most:
            yield f"{many} were unread in {where}, where there were {most} at most"
