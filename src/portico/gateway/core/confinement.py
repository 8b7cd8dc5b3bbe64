"""What a server that is started here is confined to, and who has let it out."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from portico.sandbox.core.profile import Network, Place, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Unboxed:
    """Somebody has agreed that a server runs with all rights of Portico itself, where there is no
    box: exactly this launch of it."""

    by: str
    at: datetime
    launch_pin: str


class Hold(StrEnum):
    """How a server is held."""

    BOXED = "boxed"
    UNBOXED = "unboxed"
    """By the configuration, or with consent: it has all rights of Portico itself."""
    REFUSED = "refused"
    """There is no box for it here, and nobody has agreed to do without: it does not start."""
    ELSEWHERE = "elsewhere"
    """It is not started by us."""
    OURS = "ours"
    """It is a part of Portico, and nobody else's code."""


_PIN: Final = 12

_ELSE: Final = {
    Hold.UNBOXED: "NOT BOXED: all rights of Portico itself",
    Hold.REFUSED: "no box here: does not start",
    Hold.ELSEWHERE: "runs elsewhere",
    Hold.OURS: "part of Portico",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    hold: Hold
    profile: Profile | None
    """What it may reach beside its own program and a home of its own; None if nothing of it
    is started here."""
    stated: bool = False
    """Whether somebody has said so, or nobody has said otherwise."""


def hold_of(
    server: str,
    launch_pin: str,
    consent: Unboxed | None,
    *,
    offered: bool,
    lacking: bool,
    named: Collection[str],
) -> Hold:
    """Only the configuration lets anybody out of a box; `named` are those, as `let_out` has it.
    A consent counts where there is none at all, and not where one has just failed."""
    if let_out(server, launch_pin) in named:
        return Hold.UNBOXED
    if offered:
        return Hold.BOXED
    agreed = lacking and consent is not None and consent.launch_pin == launch_pin
    return Hold.UNBOXED if agreed else Hold.REFUSED


def let_out(server: str, launch_pin: str) -> str:
    """What the configuration has to say to let it out: its name, and the beginning of the pin of
    exactly this launch. Another one under the same name is not meant."""
    return f"{server}:{launch_pin[:_PIN]}"


def said(confinement: Confinement, home: str = "") -> str:
    """In one line: `network: public · writes ~/notes · own home`. `home` is written as ~."""
    parts = _parts(confinement.profile or Profile(), home)
    return _ELSE.get(confinement.hold) or " · ".join(parts)


def _parts(profile: Profile, home: str) -> Iterable[str]:
    reach = [str(place) for place in profile.reach]
    everywhere = [] if profile.network is Network.NONE and reach else [profile.network.value]
    yield "network: " + ", ".join([*everywhere, *reach])
    for verb, paths in (("writes", profile.write), ("reads", profile.read)):
        if paths:
            yield f"{verb} " + ", ".join(_short(path, home) for path in paths)
    yield "own home"


def _short(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if home and within(path, home) else path


def within(path: str, folder: str) -> bool:
    """Both whole paths, without dots in them."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def widens(before: Profile, after: Profile) -> bool:
    """Whether something can be reached with `after` that could not be with `before`."""
    readable = (*before.read, *before.write)
    return (
        any(not _covered(path, before.write) for path in after.write)
        or any(not _covered(path, readable) for path in after.read)
        or (after.network is Network.PUBLIC and before.network is Network.NONE)
        or any(not _reached(place, before) for place in after.reach)
    )


def _covered(path: str, folders: Iterable[str]) -> bool:
    return any(within(path, folder) for folder in folders)


def _reached(place: Place, before: Profile) -> bool:
    """A place that is named may be this machine, whatever its name; the public network is not."""
    return place in before.reach
