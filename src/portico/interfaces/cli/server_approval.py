"""How a server is approved at a terminal: its command first, then its tools."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from portico.gateway.core.servers import Hold
from portico.interfaces.cli.errors import BadUsage, NeedsYes
from portico.interfaces.cli.paths import path_to
from portico.interfaces.cli.server import Server
from portico.interfaces.cli.server_words import offered_row
from portico.interfaces.cli.terminal import Terminal
from portico.kernel.effect import Effect

Review = dict[str, Any]

_COLUMNS: Final = ["tool", "standing", "proposed", "why", "says"]
_MAY_START: Final = "The server may be started; its tools wait."
_MORE: Final = "--all takes what is proposed"
_RIGHTS: Final = "your files, your keys, your network."
_NO_BOX: Final = (
    "There is no box on this machine (portico doctor says why), and it will not start without "
    "one, unless you agree to that: --unboxed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    at: Terminal
    server: Server
    name: str
    yes: bool
    all_effects: bool
    only: Sequence[str] = ()
    """Let only these tools in, by their own names; the others stay as they are."""
    unboxed: bool = False
    """Whoever approves agrees that it runs without a box, where there is none."""

    def __call__(self) -> None:
        review = self._review()
        if review.get("gone"):
            # refused, in the server's own words
            self.server.post(path_to("servers", self.name, "restart"))
        started = not review["launch_approved"] or self.unboxed
        if started:
            self._let_start(review)
        if started or not review["listed"]:
            with self.at.working(f"starting {self.name}"):
                self.server.post(path_to("servers", self.name, "restart"))
            review = self._review()
        if self.only or self._waits(review):
            self._let_in(review, so_far=_MAY_START if started else None)
        else:
            self.at.say("Nothing waits for approval.")
            self._tell(review, self.server.get(path_to("servers", self.name)))

    def _review(self) -> Review:
        found: Review = self.server.get(path_to("servers", self.name, "review"))
        return found

    def _let_start(self, review: Review) -> None:
        self.at.say(f"This will be started, as it stands here:\n\n  {review['command']}\n")
        for variable in review["loaders"]:
            self.at.say(
                f"  {variable} decides which code runs, and may change without being noticed."
            )
        question = self._how_it_is_held(review["confinement"])
        if not self.yes and not self.at.confirm(question):
            raise NeedsYes(question)
        body = {"launch_pin": review["launch_pin"], "unboxed": self.unboxed}
        self.server.post(path_to("servers", self.name, "approve-launch"), body)

    def _how_it_is_held(self, confinement: Mapping[str, Any]) -> str:
        """Says it; what then is to be asked."""
        if confinement["hold"] == Hold.UNBOXED or self.unboxed:
            self.at.alarm(f"  NOT BOXED: it will run with all rights of Portico: {_RIGHTS}")
            return f"Start {self.name} without a box?"
        if confinement["hold"] == Hold.REFUSED:
            self.at.say(f"  {_NO_BOX}\n")
        else:
            self.at.say(f"  It may reach: {confinement['reaches']}\n")
        return f"Start {self.name}?"

    def _waits(self, review: Review) -> bool:
        """Also what was let in as destructive for want of a decision, if all is to be decided."""
        tools = review["tools"]
        undecided = self.all_effects and _undecided(tools)
        at_rest = tools and all(each["standing"] in {"live", "refused"} for each in tools)
        return bool(undecided or review["said"] or not at_rest)

    def _let_in(self, review: Review, *, so_far: str | None) -> None:
        if not self.at.json:
            rows = [offered_row(each) for each in self._meant(review)]
            self.at.table(_COLUMNS, rows, None, fold=["why", "says"])
        question = "Let these tools in with the proposed effects?"
        if not self.yes and not self.at.confirm(question):
            raise NeedsYes(question, so_far=so_far)
        which = "all" if self.all_effects or not self.yes else "reads"
        body: Review = {"pin": review["pin"], "proposed": which}
        if self.only:
            body["effects"] = self._effects(review, everything=which == "all")
        accepted = self.server.post(path_to("servers", self.name, "accept"), body)
        self._tell(review, accepted)

    def _meant(self, review: Review) -> Sequence[Mapping[str, Any]]:
        """Raises `BadUsage`."""
        offered = {each["tool"].partition(".")[2]: each for each in review["tools"]}
        if missing := [name for name in self.only if name not in offered]:
            raise BadUsage(f"{self.name} does not offer {', '.join(missing)}.")
        return [offered[name] for name in self.only] if self.only else review["tools"]

    def _effects(self, review: Review, *, everything: bool) -> Mapping[str, str]:
        """What was decided of a tool that is as it was stays decided."""
        return {
            each["tool"].partition(".")[2]: each["effect"]
            if each["standing"] == "live" and each["effect"] != Effect.UNKNOWN
            else each["proposed"]
            if everything or Effect(each["proposed"]).reads_only
            else Effect.UNKNOWN
            for each in self._meant(review)
        }

    def _tell(self, review: Review, server: Mapping[str, Any]) -> None:
        if self.at.json:
            self.at.data(server, "")
            return
        lines = list(self.server.pages("/tools", server=self.name, standing="live"))
        effects = {each["tool"]: each["effect"] for each in lines}
        now = [each | {"effect": effects.get(each["tool"])} for each in review["tools"]]
        more = [_MORE] if _undecided(now) else []
        granted = [": ".join([f"{self.name} is approved", *_granted(effects.values())])]
        self.at.data(None, "; ".join(granted + more))


def _undecided(tools: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        each["effect"] == Effect.UNKNOWN and each["proposed"] != Effect.UNKNOWN for each in tools
    )


def _granted(effects: Iterable[str]) -> list[str]:
    """`1 as read, 4 as destructive`, or nothing if there are none."""
    counted = Counter(_kind(Effect(each)) for each in effects)
    order = ["read", "write", "destructive"]
    told = ", ".join(f"{counted[kind]} as {kind}" for kind in order if counted[kind])
    return [told] if told else []


def _kind(effect: Effect) -> str:
    if effect.reads_only:
        return "read"
    return "destructive" if effect.destroys else "write"
