"""What must hold of requests, without a look at how it is done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Request:
    who: str
    path: str
    state: str = "waiting"
    uses: int = 0
    """How often it may be used, once it has been approved."""
    given: bool = False
    instead: str | None = None


@dataclass(slots=True)
class Model:
    requests: dict[str, Request] = field(default_factory=dict)
    newest: dict[tuple[str, str], str] = field(default_factory=dict)

    def within(self, *states: str) -> list[str]:
        return [handle for handle, each in self.requests.items() if each.state in states]

    def answering(self, who: str, path: str) -> str | None:
        """The request that answers for this call; without one it must ask anew."""
        handle = self.newest.get((who, path))
        if handle is None:
            return None
        request = self.requests[handle]
        return None if request.given or request.state in {"expired", "skipped"} else handle

    def ask(self, handle: str, who: str, path: str) -> None:
        known = self.answering(who, path)
        assert handle == known or (known is None and handle not in self.requests)
        self.requests.setdefault(handle, Request(who, path))
        self.newest[who, path] = handle

    def answer(self, handle: str, *, yes: bool, counted: bool) -> None:
        request = self.requests[handle]
        assert counted == (request.state == "waiting"), request
        if counted:
            request.state, request.uses = ("approved", 1) if yes else ("rejected", 0)

    def edit(self, handle: str, new: str, path: str) -> None:
        old = self.requests[handle]
        assert old.state == "waiting"
        old.state, old.instead = "replaced", new
        self.requests[new] = Request(old.who, path, "approved", 1)
        self.newest[old.who, path] = new

    def final(self, handle: str) -> Request:
        request = self.requests[handle]
        return request if request.instead is None else self.final(request.instead)

    def check(self, effects: Sequence[Mapping[str, Any]], ended: Mapping[str, str]) -> None:
        """`effects` as the outside saw them; `ended` is what we say became of each request."""
        seen = Counter(str(effect["approval"]) for effect in effects)
        for effect in effects:
            request = self.requests[effect["approval"]]
            assert effect["arguments"] == {"path": request.path}, "made for another hash"
        for handle, request in self.requests.items():
            made, said = seen[handle], ended[handle]
            assert made <= request.uses, f"{handle} was used {made} times"
            assert said != "approved", f"{handle} was approved, and nothing came of it"
            assert said != "done" or made >= 1, f"{handle} is said to be done, and was not"
            assert made == 0 or said in {"done", "uncertain", "skipped", "retried"}, handle
