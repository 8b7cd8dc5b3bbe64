"""How much there is in `just bench web`, and how often it is asked for."""

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    runs: int = 10_000
    steps: int = 1_000
    """Of the one long run."""
    servers: int = 50
    tools: int = 1_000
    calls: int = 100_000
    """On the record, of the last two weeks."""
    edges: int = 5_000
    """Of the learnt graph."""
    messages: int = 100_000
    conversations: int = 100
    projects: int = 20
    long_talk: int = 2_000
    """Messages of the one long conversation, about."""
    waiting: int = 200
    """Requests that wait for a person; others were answered."""
    debates: int = 500
    audit: int = 20_000
    requests: int = 40
    """Of each screen."""
    loads: int = 7
    """Of a page by a browser, for the time until it is live."""
    tabs: int = 200
    seconds: int = 60
    rate: int = 50
    """Events a second that all tabs hear."""

    def spelled(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Self:
        return cls(**json.loads(text))
