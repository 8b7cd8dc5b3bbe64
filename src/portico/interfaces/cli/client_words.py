"""What `connect` and `disconnect` say."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from portico.gateway.core.client_entry import Found, Proposal, Removal, Standing, Written
from portico.interfaces.cli.terminal import shown
from portico.kernel.json import JsonObject, JsonValue


def short(file: str) -> str:
    """As a person writes it."""
    home = f"{Path.home()}/"
    return shown(f"~/{file.removeprefix(home)}" if file.startswith(home) else file)


def found_row(found: Found) -> JsonObject:
    return {
        "client": found.home.name,
        "here": found.present,
        "portico": found.standing or "cannot be told",
        "file": short(found.file),
        "command": _command(found),
    }


def found_json(found: Found) -> JsonObject:
    return {
        "client": found.home.name,
        "title": found.home.title,
        "here": found.present,
        "connected": found.standing in {Standing.SAME, Standing.OTHERWISE},
        "standing": found.standing,
        "problem": found.problem,
        "file": found.file,
        "command": _command(found) or None,
    }


def could_connect(all_found: Sequence[Found]) -> Sequence[str]:
    """The commands for those that are here and are not connected."""
    return [
        _command(each) for each in all_found if each.present and each.standing == "not connected"
    ]


def proposal_json(proposal: Proposal, **more: JsonValue) -> JsonObject:
    return {
        "client": proposal.home.name,
        "title": proposal.home.title,
        "scope": proposal.scope,
        "file": proposal.file,
        "standing": proposal.standing,
        "diff": proposal.diff,
        "listed_twice": list(proposal.also_listed),
        "notes": list(proposal.notes),
        **more,
    }


def after_lines(proposal: Proposal, written: Written) -> Iterator[str]:
    if written.copy:
        yield f"  as it was   {short(written.copy)}"
    yield f"  to undo     portico disconnect {proposal.home.name}"
    yield f"  to use it   start {proposal.home.title} anew"


def notes(proposal: Proposal) -> Iterator[str]:
    yield from (f"! {each}" for each in proposal.notes)
    if proposal.also_listed:
        names = shown(", ".join(proposal.also_listed))
        yield (
            f"! {proposal.home.title} lists these itself, and Portico reads them too: {names}. "
            "Where both can start one, its tools are there twice. Describe them to Portico "
            f"itself (portico servers add), then take them out of {short(proposal.file)}: while "
            "Portico reads that file, what is gone from it is gone from Portico."
        )


def removal_json(removal: Removal) -> JsonObject:
    return {
        "client": removal.home.name,
        "file": removal.file,
        "file_removed": removal.after is None,
        "as_before": removal.as_before,
        "diff": removal.diff,
    }


def removal_text(removal: Removal) -> str:
    how = "Portico's entry is out; all else is as it was found."
    if removal.after is None:
        how = "the file is gone again: nothing else was in it."
    elif removal.as_before:
        how = "as it was before, to the byte."
    return f"{removal.home.title}: {short(removal.file)}, {how}"


def _command(found: Found) -> str:
    match found.standing:
        case Standing.SAME:
            return f"portico disconnect {found.home.name}"
        case None:
            return ""
        case _:
            return f"portico connect {found.home.name}"
