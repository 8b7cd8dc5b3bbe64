"""`portico bridge watch`: conversations as they go on, until Ctrl-C."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from cyclopts import Parameter

from portico.interfaces.cli.bridge_names import find_conversation, names_of_people
from portico.interfaces.cli.bridge_words import Shown
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.following import RESET, Following
from portico.interfaces.cli.labels import LabelOption
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.terminal import At, Terminal

_MOST: Final = 16
_USUAL: Final = 10


def watch(
    conversations: Annotated[list[str], Parameter(negative=())],
    /,
    *,
    last: int = _USUAL,
    upto: LabelOption = None,
    keep_unread: bool = False,
    at: At,
) -> None:
    """Follow conversations: what was said last, and what is said from now on, until Ctrl-C.

    Parameters
    ----------
    conversations
        Their titles, PROJECT/TITLE, or their ids; sixteen at most.
    last
        So many of what was said last come first.
    upto
        Nothing that is more secret than this.
    keep_unread
        It does not count as read.
    """
    if len(conversations) > _MOST:
        raise BadUsage(f"At most {_MOST} conversations at once.")
    server = Server(at.house)
    found = {
        each["id"]: each for each in (find_conversation(server, text) for text in conversations)
    }
    shown = Shown(
        at,
        me=server.get("/me")["id"],
        labels={name: each["label"] for name, each in found.items()},
        titles={name: each["title"] for name, each in found.items()},
        people=names_of_people(server),
    )
    watching = _Watching(server, shown, sorted(found), upto=upto, keep_unread=keep_unread)
    watching.begin(last)
    at.say(f"Following {', '.join(each['title'] for each in found.values())}; Ctrl-C ends.")
    watching.follow()


@dataclass
class _Watching:
    server: Server
    shown: Shown
    conversations: Sequence[str]
    upto: str | None
    keep_unread: bool
    cursor: str | None = None

    @property
    def at(self) -> Terminal:
        return self.shown.at

    def begin(self, last: int) -> None:
        """The end is looked up first: what is said meanwhile is not missed."""
        self.cursor = self.server.get(
            "/bridge/cursor", conversation=self.conversations, upto=self.upto
        )["cursor"]
        if last <= 0:
            return
        told: list[dict[str, Any]] = []
        for each in self.conversations:
            path = path_to("conversations", each, "messages")
            told += self.server.get(path, before="end", limit=min(last, 200), upto=self.upto)[
                "data"
            ]
        for message in sorted(told, key=lambda each: each["sent_at"])[-last:]:
            self._tell(message)

    def follow(self) -> None:
        """Being told is only to be woken: what is new is read from where one stands."""
        query: dict[str, Any] = {"conversation": self.conversations}
        if self.upto is not None:
            query["upto"] = self.upto
        following = Following(self.server, self.at.say)
        for told in following("/bridge/events", **query):
            if told.type == RESET:
                self.at.say("What you may see has changed.")
            self._catch_up()

    def _catch_up(self) -> None:
        more = True
        while more:
            page = self.server.get(
                "/bridge/messages",
                conversation=self.conversations,
                cursor=self.cursor,
                upto=self.upto,
                limit=200,
            )
            for message in page["data"]:
                self._tell(message)
            self.cursor, more = page["cursor"], page["more"]
            if page["data"] and not self.keep_unread:
                self._read()

    def _read(self) -> None:
        body = {
            "conversations": self.conversations,
            "cursor": self.cursor,
            "upto": self.upto,
        }
        self.server.post("/bridge/read", body)

    def _tell(self, message: dict[str, Any]) -> None:
        if self.at.json:
            print(json.dumps(message, ensure_ascii=False), flush=True)
        else:
            self.shown.show(message)
