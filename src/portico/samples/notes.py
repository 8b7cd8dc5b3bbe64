"""The shop's handbook: short notes that can be searched, read, written and thrown away."""

from collections.abc import Mapping
from typing import Any, Final

from portico.samples.tool import TEXT, Tool, described, list_of

_NOTES: Final[dict[str, dict[str, str]]] = {
    "refunds": {
        "title": "Refunds",
        "text": "Within 30 days of delivery the full price is paid back. Later only for a fault "
        "of the maker, and never for wear: brake pads, chains, tyres.",
    },
    "deliveries": {
        "title": "Deliveries",
        "text": "A parcel that has not moved for 7 days counts as lost. Send it again at once and "
        "ask the carrier afterwards.",
    },
    "recall-lights": {
        "title": "Recall of the Ember lamp",
        "text": "Ember lamps with a number below 4000 may get hot. Ask for the number, and "
        "replace the lamp whatever its age.",
    },
    "opening-hours": {
        "title": "Opening hours",
        "text": "Tuesday to Saturday, 10 to 18. The workshop takes bicycles until 16.",
    },
}
_ID: Final = described(TEXT, "As search_notes gives it.")


def search_notes(query: str) -> Mapping[str, Any]:
    words = query.lower().split()
    found = [
        {"id": key, "title": note["title"]}
        for key, note in _NOTES.items()
        if any(word in f"{note['title']} {note['text']}".lower() for word in words)
    ]
    return {"notes": found}


def read_note(id: str) -> Mapping[str, Any]:  # noqa: A002 # what the tool calls it
    return {"id": id, **_note(id)}


def write_note(title: str, text: str) -> Mapping[str, Any]:
    key = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())
    if not key:
        raise ValueError("A note needs a title of letters or digits.")
    _NOTES[key] = {"title": title, "text": text}
    return {"id": key}


def delete_note(id: str) -> Mapping[str, Any]:  # noqa: A002 # likewise
    title = _note(id)["title"]
    del _NOTES[id]
    return {"deleted": title}


def _note(key: str) -> Mapping[str, str]:
    if key not in _NOTES:
        raise LookupError(f"There is no note {key!r}; search_notes finds them.")
    return _NOTES[key]


TOOLS: Final = (
    Tool(
        name="search_notes",
        does="Search the shop's handbook by words.",
        takes={"query": described(TEXT, "Words, of which one is enough.")},
        gives={"notes": list_of({"id": TEXT, "title": TEXT})},
        run=search_notes,
    ),
    Tool(
        name="read_note",
        does="Read one note of the handbook.",
        takes={"id": _ID},
        gives={"id": TEXT, "title": TEXT, "text": TEXT},
        run=read_note,
    ),
    Tool(
        name="write_note",
        does="Write a note into the handbook; one of the same title is replaced.",
        takes={"title": TEXT, "text": TEXT},
        gives={"id": TEXT},
        run=write_note,
        reads=False,
    ),
    Tool(
        name="delete_note",
        does="Delete a note of the handbook for good.",
        takes={"id": _ID},
        gives={"deleted": TEXT},
        run=delete_note,
        reads=False,
        destroys=True,
    ),
)
