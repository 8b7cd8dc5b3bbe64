"""Variables in the files of clients: each client writes them in its own way."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from portico.gateway.core.server import FromEnvironment, Spelling

_BRACES: Final = r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_MENTION: Final[Mapping[Spelling, re.Pattern[str]]] = {
    "braces": re.compile(_BRACES),
    "env": re.compile(_BRACES),
    "shell": re.compile(rf"{_BRACES}|\$[A-Za-z_]\w*"),
}
_NAMED: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^{}$]*))?\}")
_ENV: Final = re.compile(r"\$\{env:([A-Za-z_]\w*)\}")
_INPUT: Final = re.compile(r"\$\{input:([^{}]+)\}")
_PROJECT_FOLDERS: Final = frozenset({".cursor", ".vscode", ".codex", ".gemini", ".zed"})


@dataclass(frozen=True, slots=True)
class Unknown:
    """A mention of something that only the client itself could say."""

    text: str


def pieces(
    text: str, spelling: Spelling | None, built_in: Mapping[str, str]
) -> Iterator[str | FromEnvironment | Unknown]:
    """`text` in its parts, in order; those that are known by now are texts already."""
    if spelling is None:
        yield text
        return
    place = 0
    for mention in _MENTION[spelling].finditer(text):
        if mention.start() > place:
            yield text[place : mention.start()]
        yield _meant(mention[0], spelling, built_in)
        place = mention.end()
    if place < len(text):
        yield text[place:]


def filled(text: str, spelling: Spelling, *, path: str, environment: Mapping[str, str]) -> str:
    """`text`, from the file at `path`, with its variables' values of now. Raises `KeyError` with
    the name of what is not set."""
    built_in = built_in_at(path, environment.get("HOME", ""))
    return "".join(_value(piece, environment) for piece in pieces(text, spelling, built_in))


def built_in_at(path: str, home: str) -> Mapping[str, str]:
    """What editors call some of the places around a file of theirs."""
    folder = project_of(path, home)
    around = {"userHome": home, "pathSeparator": "/", "/": "/"}
    if folder is not None:
        around["workspaceFolder"] = folder
        around["workspaceFolderBasename"] = folder.rpartition("/")[2]
    return around


def project_of(path: str, home: str) -> str | None:
    """The folder of the project that a file belongs to; None if it is for all of a user's work."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    if last in _PROJECT_FOLDERS:
        return None if above == home else above
    return folder if name == ".mcp.json" and folder != home else None


def variable_for(asked: str) -> str:
    """The variable that answers what an editor would ask its user for."""
    return re.sub(r"\W+", "_", asked).strip("_").upper()


def _meant(
    mention: str, spelling: Spelling, built_in: Mapping[str, str]
) -> str | FromEnvironment | Unknown:
    if not mention.startswith("${"):
        return FromEnvironment(mention[1:])
    if spelling != "env":
        named = _NAMED.fullmatch(mention)
        return Unknown(mention) if named is None else FromEnvironment(named[1], named[2])
    if known := built_in.get(mention[2:-1]):
        return known
    if variable := _ENV.fullmatch(mention):
        return FromEnvironment(variable[1])
    asked = _INPUT.fullmatch(mention)
    return Unknown(mention) if asked is None else FromEnvironment(variable_for(asked[1]))


def _value(piece: str | FromEnvironment | Unknown, environment: Mapping[str, str]) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Unknown):
        raise KeyError(piece.text)
    if piece.default is None:
        return environment[piece.variable]
    return environment.get(piece.variable) or piece.default
