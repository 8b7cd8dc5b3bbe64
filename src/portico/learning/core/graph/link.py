"""All that is known between two tools, and what it counts for."""

from dataclasses import dataclass
from datetime import datetime

from portico.learning.core.graph.confidence import fresh
from portico.learning.core.graph.edge import EdgeKind, Sightings


@dataclass(slots=True)
class Link:
    """Strengths are as of when it was last seen here."""

    follows: Sightings | None = None
    feeds: Sightings | None = None
    follow_strength: float = 0.0
    feed_strength: float = 0.0
    strength: float = 0.0
    """What both came after and took something is one thing that was seen."""

    def add(self, kind: EdgeKind, seen: Sightings, now: datetime) -> None:
        if kind is EdgeKind.FOLLOWS:
            self.follows = seen if self.follows is None else self.follows.and_then(seen)
            self.follow_strength = fresh(self.follows, now)
        else:
            self.feeds = seen if self.feeds is None else self.feeds.and_then(seen)
            self.feed_strength = fresh(self.feeds, now)
        followed, took = self.follow_strength, self.feed_strength
        self.strength = max(took, followed)

    @property
    def tasks(self) -> int:
        return max(each.tasks for each in (self.follows, self.feeds) if each is not None)

    @property
    def last_seen(self) -> datetime:
        return max(each.last_seen for each in (self.follows, self.feeds) if each is not None)
