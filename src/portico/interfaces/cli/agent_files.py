"""Make and edit agents: in a dialogue, as TOML, in the user's editor."""

import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import unquote

from cyclopts import Parameter

from portico.interfaces.cli.agent_text import warning_lines
from portico.interfaces.cli.errors import InvalidUsage
from portico.interfaces.cli.keystrokes import in_editor
from portico.interfaces.cli.server import Refused, Server, api_path
from portico.interfaces.cli.terminal import At, Terminal
from portico.kernel.errors import FieldError, Kind, PorticoError

_NO_MODEL: Final = frozenset({"no_such_model", "provider_not_found", "bad_model"})


class AgentServer(Server):
    def lines(self, path: str) -> Iterator[str]:
        with self._hinting(path, None):
            yield from super().lines(path)

    def check_model(self, model: str) -> None:
        """Raises `Refused` if nobody provides it; what else is in the way shows when it is
        asked."""
        try:
            self.get(model_path(model))
        except Refused as error:
            if error.code in _NO_MODEL:
                raise

    def _ask(self, method: str, path: str, **sent: Any) -> Any:  # noqa: ANN401 # JSON, shown as it is
        with self._hinting(path, sent.get("json")):
            return super()._ask(method, path, **sent)

    @contextmanager
    def _hinting(self, path: str, body: object) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            with suppress(PorticoError):  # whoever may not list them is told less
                meant = self._meant(error, path, body)
                if meant:
                    error.fix = " ".join(filter(None, [f"Did you mean {meant}?", error.fix]))
            raise

    def _meant(self, error: Refused, path: str, body: object) -> str | None:
        """Among the names that there are."""
        wrong = ""
        names: Iterator[str] = iter(())
        if error.code == "agent_not_found":
            wrong = unquote(path.split("/")[2])
            names = (str(each["name"]) for each in self.pages("/agents"))
        elif wrong := _wrong_model(error, path, body):
            names = (str(each["model"]) for each in self.get("/models"))
        return next(iter(get_close_matches(wrong, names, n=1)), None) if wrong else None


def model_path(model: str) -> str:
    """Names of models have slashes."""
    return api_path("models", *model.split("/"))


def _wrong_model(error: Refused, path: str, body: object) -> str:
    amiss = error.code in _NO_MODEL or any(flaw.field == "model" for flaw in error.field_errors)
    if not amiss:
        return ""
    if isinstance(body, Mapping):
        return str(body.get("model", ""))
    return unquote(path.removeprefix("/models/")) if path.startswith("/models/") else ""


_LARGEST: Final = 1_000_000


class InvalidToml(PorticoError):
    kind = Kind.INVALID
    code = "bad_toml"
    type_name = "BadToml"
    title = "Not TOML"
    fix = "Texts stand in quotes, long ones in three; lists in square brackets."

    def __init__(self, reason: str) -> None:
        super().__init__(f"It cannot be read: {reason}.")


def exported(server: Server, name: str) -> str:
    """The whole agent as TOML."""
    return "\n".join([*server.lines(api_path("agents", name, "export")), ""])


def spec_of(text: str) -> dict[str, Any]:
    """What a file says of an agent. Raises `InvalidToml`."""
    try:
        spec = tomllib.loads(text.removeprefix("\ufeff"))
        json.dumps(spec, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidToml(str(error)) from error
    except TypeError as error:
        raise InvalidToml("an agent has no dates and no times; put them in quotes") from error
    return spec


def lines_of(text: str, fields: Sequence[str]) -> Sequence[tuple[str, int]]:
    """Each field with the number of its line, as far as it has one of its own."""
    found = []
    for field in fields:
        key = field.rpartition(".")[2].partition("[")[0]
        for number, line in enumerate(text.splitlines(), 1):
            if line.split("=")[0].strip() == key:
                found.append((field, number))
                break
    return found


@contextmanager
def flaws_by_line(text: str) -> Iterator[None]:
    """What the server finds wrong is told with the line that it stands in."""
    try:
        yield
    except Refused as error:
        lines = dict(lines_of(text, [flaw.field for flaw in error.field_errors]))
        error.field_errors = tuple(
            FieldError(flaw.field, f"{flaw.message} (line {lines[flaw.field]})")
            if flaw.field in lines
            else flaw
            for flaw in error.field_errors
        )
        raise


def read_text(file: str) -> str:
    """`-` is standard input. Raises `InvalidUsage`, `OSError`."""
    if file == "-":
        return sys.stdin.read(_LARGEST)
    path = Path(file)
    if path.stat().st_size > _LARGEST:
        raise InvalidUsage(f"{file} is too large to be about an agent.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidUsage(f"{file} is no text in UTF-8.") from error


def told_or_read(text: str) -> str:
    """`@FILE` is what stands in it."""
    return read_text(text[1:]) if text.startswith("@") else text


Answer = TypeVar("Answer")

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
_SHOWN: Final = 12
"""Models that are listed for whoever is asked."""
_ASKED_AGAIN: Final = frozenset({"name", "model"})
_TAKEN: Final = {"agent_name_taken": {"name"}}
_NO_MODEL_YET: Final = (
    "No model answers just now. Start Ollama, or name a provider in portico.toml: "
    "[models.providers.NAME]"
)


def new(  # noqa: PLR0913 # each an option
    name: str | None = None,
    /,
    *,
    template: str | None = None,
    model: str | None = None,
    tools: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    instructions: str | None = None,
    description: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from", allow_leading_hyphen=True)] = None,
    at: At,
) -> None:
    """Make an agent. At a terminal you are asked for what is missing.

    portico agents new helper --template researcher --model ollama:llama3.2

    Parameters
    ----------
    name
        What it is called: letters, digits, - and _.
    template
        What it begins with: `portico agents new` without anything shows which there are.
    model
        provider:model, as `portico models list` shows them.
    tools
        Which tools it may use, with wildcards: 'files.*'. None: it has none.
    instructions
        What it is for and how it works, in your words; @FILE for a text that stands there.
    description
        One sentence, for whoever looks for an agent.
    from_
        A TOML file as `portico agents export` writes it, or - for standard input; nothing else is
        needed then, and what is said besides counts more than what stands there.
    """
    server = AgentServer(at.services)
    if instructions is not None:
        instructions = told_or_read(instructions)
    said = {
        "name": name,
        "model": model,
        "tools": tools,
        "instructions": instructions,
        "description": description,
    }
    given = {key: value for key, value in said.items() if value is not None}
    if from_ is not None:
        text = read_text(from_)
        with flaws_by_line(text):
            made = server.post("/agents", spec_of(text) | given)
    else:
        spec = _begun(server, template)
        usual = spec.pop("name", template)
        made = _made(server, at, _completed(server, at, spec | given, usual))
    at.data(made, f"{made['name']} is there.")
    for line in warning_lines(made):
        at.say(line)
    at.say(f"To talk to it: portico agents chat {made['name']}")


def _begun(server: Server, template: str | None) -> dict[str, Any]:
    """Raises `InvalidUsage`."""
    if template is None:
        return {}
    there = {each["name"]: each["agent"] for each in _templates(server)}
    if template not in there:
        raise InvalidUsage(
            f"There is no template {template!r}.", fix=f"Those there are: {', '.join(there)}"
        )
    return {key: value for key, value in there[template].items() if value not in (None, "")}


def _completed(
    server: Server, at: Terminal, spec: dict[str, Any], usual: str | None
) -> dict[str, Any]:
    """With what is missing asked for, where somebody can be asked; `usual` is what it is called
    if nobody says. Raises `InvalidUsage`."""
    asks = _somebody_answers(at)
    if asks and usual is None and "instructions" not in spec and "tools" not in spec:
        begun = _from_template(server, at)
        usual = begun.pop("name", None)
        spec = begun | spec
    if "name" in spec or not asks:
        spec["name"] = _name(spec.get("name") or usual)
    else:
        question = "Name?" if usual is None else f"Name? [{usual}]"
        spec["name"] = _answered(at, question, lambda text: _name(text or usual))
    if not spec.get("model"):
        spec["model"] = _model(server, at, asks=asks, with_tools=bool(spec.get("tools")))
    if asks and not spec.get("instructions"):
        spec["instructions"] = at.ask("What is it for, and how should it work? (one line)") or ""
    return spec


def _made(server: Server, at: Terminal, spec: dict[str, Any]) -> Any:  # noqa: ANN401 # JSON, shown as it is
    """If it is only its name or its model that will not do, another one is asked for, and nothing
    else has to be said again. Raises `Refused`, `InvalidUsage`."""
    while True:
        try:
            return server.post("/agents", spec)
        except Refused as error:
            wrong = {flaw.field for flaw in error.field_errors} or _TAKEN.get(error.code, set())
            if not _somebody_answers(at) or not wrong or wrong - _ASKED_AGAIN:
                raise
            at.fail(error)
        if "name" in wrong:
            spec["name"] = _answered(at, "Name?", _name)
        if "model" in wrong:
            spec["model"] = _model(
                server, at, asks=True, with_tools=bool(spec.get("tools")), refused=True
            )


def _somebody_answers(at: Terminal) -> bool:
    return sys.stdin.isatty() and not at.no_input and not at.json


def _from_template(server: Server, at: Terminal) -> dict[str, Any]:
    found = _templates(server)
    at.say("Begin with:")
    at.say("  0  nothing")
    for number, each in enumerate(found, 1):
        at.say(f"  {number}  {each['name']}: {each['description']}")
    names = [each["name"] for each in found]
    chosen = _answered(at, "Which? [0]", lambda text: _chosen(text or "0", names))
    return {} if chosen is None else _begun(server, chosen)


def _model(
    server: Server, at: Terminal, *, asks: bool, with_tools: bool, refused: bool = False
) -> str:
    """The one there is, unless it was refused, or the one that is chosen. Raises `InvalidUsage`."""
    models = list(server.get("/models"))
    found = [str(each["model"]) for each in models]
    if len(found) == 1 and not refused:
        at.say(f"It uses {found[0]}, the only model there is.")
        return found[0]
    if not asks:
        raise InvalidUsage(
            "It was not said which model it uses.",
            fix=f"Say --model: {', '.join(found[:5])} …" if found else _NO_MODEL_YET,
        )
    if not found:
        at.say(_NO_MODEL_YET)
    for number, each in enumerate(models[:_SHOWN], 1):
        lacks = with_tools and each.get("tools") == "no"
        at.say(f"  {number}  {each['model']}{'  (is not made for tools)' if lacks else ''}")
    if len(found) > _SHOWN:
        at.say(f"  … and {len(found) - _SHOWN} more: portico models list")
    question = "Which model? (a number, or provider:model)"
    return _answered(at, question, lambda text: _model_meant(text, found[:_SHOWN]))


def _answered(at: Terminal, question: str, read: Callable[[str], Answer]) -> Answer:
    """Asked again until it can be read, or nobody answers any more. Raises `InvalidUsage`."""
    while True:
        answer = at.ask(question)
        try:
            return read(answer or "")
        except InvalidUsage as error:
            if answer is None:
                raise
            at.say(" ".join(filter(None, [str(error), error.fix])))


def _model_meant(answer: str, shown: Sequence[str]) -> str:
    """Raises `InvalidUsage`."""
    if answer.isdecimal() and 1 <= int(answer) <= len(shown):
        return shown[int(answer) - 1]
    if ":" not in answer:
        raise InvalidUsage(f"{answer!r} is no model.", fix="portico models list shows them.")
    return answer


def _chosen(answer: str, names: Sequence[str]) -> str | None:
    """By its number or its name; None for none of them. Raises `InvalidUsage`."""
    if answer in names:
        return answer
    if not answer.isdecimal() or int(answer) > len(names):
        raise InvalidUsage(f"{answer!r} is none of them.")
    return None if int(answer) == 0 else names[int(answer) - 1]


def _name(text: str | None) -> str:
    """Raises `InvalidUsage`."""
    if not text:
        raise InvalidUsage("It needs a name.", fix="Such as: portico agents new helper")
    if not _NAME.fullmatch(text):
        raise InvalidUsage(
            f"{text!r} cannot be its name.",
            fix="Begin with a letter; then letters, digits, - and _, at most 48 in all.",
        )
    return text


def _templates(server: Server) -> Sequence[Any]:
    return list(server.get("/agents/templates")["data"])


def edit(
    name: str,
    /,
    *,
    from_: Annotated[str | None, Parameter(name="--from", allow_leading_hyphen=True)] = None,
    rename: bool = False,
    at: At,
) -> None:
    """Change an agent, in $VISUAL or $EDITOR. What is wrong is told, and what you wrote is kept.

    Parameters
    ----------
    name
        Which one.
    from_
        Instead of an editor: a TOML file, or - for standard input.
    rename
        Also if another name stands in the file: it is called that from then on.
    """
    server = AgentServer(at.services)
    was = int(server.get(api_path("agents", name))["version"])
    made: dict[str, Any] | None
    if from_ is not None:
        text = read_text(from_)
        spec = spec_of(text)
        if not rename:
            _check_name(name, spec)
        with flaws_by_line(text):
            made = _put(server, name, spec, was)
    else:
        made = _in_rounds(server, name, was, at)
    if made is None:
        at.say("Nothing was changed.")
        return
    at.data(made, f"{made['name']} is at version {made['version']}.")
    for line in warning_lines(made):
        at.say(line)


def _in_rounds(server: Server, name: str, was: int, at: Terminal) -> dict[str, Any] | None:
    """As often as it takes, and whoever edits wants. Raises `InvalidUsage`."""
    if not sys.stdin.isatty() or at.no_input:
        raise InvalidUsage(
            "There is nobody here to edit it.",
            fix=f"Give the whole of it: portico agents edit {name} --from FILE.toml",
        )
    before = exported(server, name)
    text = before
    while True:
        text = in_editor(text, f"{name}.toml")
        if text.strip() == before.strip():
            return None
        try:
            return _put(server, name, spec_of(text), was)
        except (Refused, InvalidToml) as error:
            at.fail(error)
            for _, number in lines_of(text, [flaw.field for flaw in error.field_errors]):
                at.say(f"  line {number}: {text.splitlines()[number - 1].strip()[:100]}")
            if not at.confirm("Edit it again?"):
                kept = _kept(name, text)
                raise InvalidUsage(
                    "The agent is as it was.",
                    fix=f"What you wrote is in {kept}: portico agents edit {name} --from {kept}",
                ) from error


def _check_name(name: str, spec: dict[str, Any]) -> None:
    """Raises `InvalidUsage`."""
    other = spec.get("name", name)
    if other != name:
        raise InvalidUsage(
            f"The file is about {other}, and not about {name}.",
            fix=f"If {name} is to be called {other} from now on, say --rename; if {other} is to be "
            f"changed: portico agents edit {other} --from FILE",
        )


def _put(server: Server, name: str, spec: dict[str, Any], was: int) -> dict[str, Any]:
    """Raises `Refused`."""
    made: dict[str, Any] = server.put(api_path("agents", name), spec, was=was)
    return made


def _kept(name: str, text: str) -> Path:
    """Where only we can read it."""
    folder = Path(tempfile.mkdtemp(prefix="portico-"))
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file
