"""What Portico is installed with, and under which licences: read from the lock and from what is
installed here. A licence that nobody has agreed to stops the build of the page."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent

PERMISSIVE: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0"),
        *("CNRI-Python", "ISC", "MIT", "MIT-0", "PSF-2.0", "Unicode-3.0", "Zlib"),
    }
)
EXCEPTIONS: Final[Mapping[str, str]] = {
    "certifi": "MPL-2.0",
    "psycopg": "LGPL-3.0-only",
    "psycopg-binary": "LGPL-3.0-only",
    "psycopg-pool": "LGPL-3.0-only",
    "tqdm": "MPL-2.0",
}
"""Agreed to one by one: used as they are, as libraries of their own that anybody can replace."""
_READ: Final[Mapping[str, str]] = {
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "numpy": "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
    "onnxruntime": "MIT",
    "pyrage": "MIT",
    "pywin32": "PSF-2.0",
}
"""Read by a person: for other systems than this one, in more versions than one, or not told."""
_TITLES: Final[Mapping[str, str]] = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
"""Of classifiers and of free texts, by their first line."""
_LOCKED: Final = re.compile(r"([a-z0-9._-]+)==([^\s;]+)(?: ; ([^\\]+))?")


_ONLY_ON: Final = {"sys_platform == 'win32'": "Windows", "'emscripten'": "browsers"}


class NotAgreed(Exception):
    """A licence that is neither permissive nor one of the exceptions."""


@dataclass(slots=True)
class Locked:
    name: str
    versions: list[str]
    only_on: str
    """Windows, or a browser; empty where it is of use on other systems too."""
    needed_by: list[str]


def locked(text: str) -> Sequence[Locked]:
    """Of a file as `uv pip compile` writes it."""
    found: dict[str, Locked] = {}
    current: Locked | None = None
    for line in text.splitlines():
        if known := _LOCKED.match(line):
            current = found.setdefault(known[1], Locked(known[1], [], _only_on(known[3] or ""), []))
            current.versions.append(known[2])
        elif current is not None and line.startswith("    #"):
            via = line.strip("# ").removeprefix("via").strip()
            if via and via not in current.needed_by:
                current.needed_by.append(via)
    return sorted(found.values(), key=lambda each: each.name)


def _only_on(marker: str) -> str:
    return next((told for sign, told in _ONLY_ON.items() if sign in marker), "")


def licence(name: str) -> str:
    """In SPDX's words. Raises `NotAgreed` where nobody can tell."""
    if name in _READ:
        return _READ[name]
    try:
        about = distribution(name).metadata
    except PackageNotFoundError:
        raise NotAgreed(f"{name} is not installed here: read its licence, and add it") from None
    if expression := about.get("License-Expression"):
        return str(expression)
    titles = [
        each.rpartition(" :: ")[2]
        for each in about.get_all("Classifier") or []
        if each.startswith("License :: OSI Approved :: ")
    ]
    titles = titles or (about.get("License") or "").strip().splitlines()[:1]
    return " OR ".join(_TITLES.get(each.strip().lower(), each) for each in titles) or "unknown"


def agreed(name: str, told: str) -> str:
    """Every part of it, whichever of them one may choose. Raises `NotAgreed`."""
    for part in re.split(r" (?:AND|OR) ", told.replace("(", "").replace(")", "")):
        if part not in PERMISSIVE and EXCEPTIONS.get(name) != part:
            raise NotAgreed(f"{name} is under {part}, which nobody has agreed to")
    return told


_PAGE: Final = """\
# Dependencies and licences

Portico is under Apache-2.0. It asks for {asked} packages; with what those need it is installed with
{all}, {here} of them on Linux and macOS. They are pinned by hash in `requirements/run.txt`.

{extras}

All are permissive, with these exceptions, which were agreed to one by one: {exceptions}. They are
used as they are, and anybody can put another version in their place. `python docs/generate.py`
fails on any other licence.

| package | version | licence | needed by |
|---|---|---|---|
"""


def licences(note: str) -> str:
    base = locked((ROOT / "requirements/run.txt").read_text())
    every = locked((ROOT / "requirements/image.txt").read_text())
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    head = _PAGE.format(
        asked=len(own),
        all=len(base),
        here=sum(not each.only_on for each in base),
        extras=_extras(base, every),
        exceptions=", ".join(
            f"{name} ({text})"
            for name, text in EXCEPTIONS.items()
            if any(each.name == name for each in every)
        ),
    )
    return f"{note}{head}{''.join(_rows(every, {each.name for each in base}))}"


def _extras(base: Sequence[Locked], every: Sequence[Locked]) -> str:
    more = [each.name for each in every if each.name not in {known.name for known in base}]
    return (
        "Extras bring what not everybody needs: `otel` sends traces and metrics to a collector, "
        "`embeddings` runs an encoder on this machine, `keyring` keeps secrets in the system's. "
        f"The image of `deploy/Dockerfile` has the first two, which is {len(more)} packages more "
        "(marked with +)."
    )


def _rows(every: Sequence[Locked], base: set[str]) -> Iterator[str]:
    for each in every:
        told = agreed(each.name, licence(each.name))
        name = each.name if each.name in base else f"{each.name} +"
        users = ", ".join(_user(user) for user in each.needed_by)
        where = f" (only on {each.only_on})" if each.only_on else ""
        yield f"| {name} | {', '.join(each.versions)}{where} | {told} | {users} |\n"


def _user(text: str) -> str:
    return "Portico" if text.startswith("portico") else text
