"""`portico bridge search`: messages by their words, or by what they are about."""

from typing import Final

from portico.interfaces.cli.agent_words import brief
from portico.interfaces.cli.bridge_names import conversation_id, project_id, short, titles_of
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At

_COLUMNS: Final = ["message", "conversation", "sent", "from", "label", "text"]
_SHORT: Final = 200


def search(
    *words: str,
    meaning: bool = False,
    project: str | None = None,
    conversation: str | None = None,
    upto: LabelOption = None,
    limit: int = 20,
    at: At,
) -> None:
    """Messages that have all of these words, the newest first.

    Parameters
    ----------
    words
        What to look for.
    meaning
        By what it is about instead: the nearest first.
    project
        Only in this one: its name or its id.
    conversation
        Only in this one: its title, PROJECT/TITLE, or its id.
    upto
        Nothing that is more secret than this.
    limit
        So many at most.
    """
    if not (wanted := " ".join(words).strip()):
        raise BadUsage("There is nothing to look for.", fix="Say what: portico bridge search WORDS")
    server = Server(at.house)
    found = server.get(
        "/bridge/search",
        q=wanted,
        by="meaning" if meaning else "words",
        project=None if project is None else project_id(server, project),
        conversation=None if conversation is None else conversation_id(server, conversation),
        upto=upto,
        limit=limit,
    )["data"]
    titles = {} if at.json else titles_of(server, (hit["message"]["conversation"] for hit in found))
    rows = [
        {
            "message": short(hit["message"]["id"]),
            "conversation": titles.get(hit["message"]["conversation"]),
            "sent": hit["message"]["sent_at"],
            "from": hit["message"]["sender_name"],
            "label": hit["message"]["label"],
            "text": brief(hit["message"]["body"], _SHORT),
        }
        for hit in found
    ]
    at.table(_COLUMNS, rows, {"data": found})
    if not found:
        at.say("Nothing has all of these words." if not meaning else "Nothing is about that.")
