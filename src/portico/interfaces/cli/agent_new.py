"""`portico agents new`: an agent in a minute, with few questions and sensible answers to them."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

from cyclopts import Parameter

from portico.interfaces.cli.agent_file import flaws_by_line, read_text, spec_of, told_or_read
from portico.interfaces.cli.agent_server import AgentServer
from portico.interfaces.cli.agent_words import warning_lines
from portico.interfaces.cli.errors import BadUsage
from portico.interfaces.cli.server import Refused, Server
from portico.interfaces.cli.terminal import At, Terminal

Answer = TypeVar("Answer")

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
_SHOWN: Final = 12
"""Models that are listed for whoever is asked."""
_ASKED_AGAIN: Final = frozenset({"name", "model"})
_TAKEN: Final = {"agent_name_taken": {"name"}}
_NO_MODEL: Final = (
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
    server = AgentServer(at.house)
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
    """Raises `BadUsage`."""
    if template is None:
        return {}
    there = {each["name"]: each["agent"] for each in _templates(server)}
    if template not in there:
        raise BadUsage(
            f"There is no template {template!r}.", fix=f"Those there are: {', '.join(there)}"
        )
    return {key: value for key, value in there[template].items() if value not in (None, "")}


def _completed(
    server: Server, at: Terminal, spec: dict[str, Any], usual: str | None
) -> dict[str, Any]:
    """With what is missing asked for, where somebody can be asked; `usual` is what it is called
    if nobody says. Raises `BadUsage`."""
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
    else has to be said again. Raises `Refused`, `BadUsage`."""
    while True:
        try:
            return server.post("/agents", spec)
        except Refused as error:
            wrong = {flaw.field for flaw in error.flaws} or _TAKEN.get(error.code, set())
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
    """The one there is, unless it was refused, or the one that is chosen. Raises `BadUsage`."""
    models = list(server.get("/models"))
    found = [str(each["model"]) for each in models]
    if len(found) == 1 and not refused:
        at.say(f"It uses {found[0]}, the only model there is.")
        return found[0]
    if not asks:
        raise BadUsage(
            "It was not said which model it uses.",
            fix=f"Say --model: {', '.join(found[:5])} …" if found else _NO_MODEL,
        )
    if not found:
        at.say(_NO_MODEL)
    for number, each in enumerate(models[:_SHOWN], 1):
        lacks = with_tools and each.get("tools") == "no"
        at.say(f"  {number}  {each['model']}{'  (is not made for tools)' if lacks else ''}")
    if len(found) > _SHOWN:
        at.say(f"  … and {len(found) - _SHOWN} more: portico models list")
    question = "Which model? (a number, or provider:model)"
    return _answered(at, question, lambda text: _model_meant(text, found[:_SHOWN]))


def _answered(at: Terminal, question: str, read: Callable[[str], Answer]) -> Answer:
    """Asked again until it can be read, or nobody answers any more. Raises `BadUsage`."""
    while True:
        answer = at.ask(question)
        try:
            return read(answer or "")
        except BadUsage as error:
            if answer is None:
                raise
            at.say(" ".join(filter(None, [str(error), error.fix])))


def _model_meant(answer: str, shown: Sequence[str]) -> str:
    """Raises `BadUsage`."""
    if answer.isdecimal() and 1 <= int(answer) <= len(shown):
        return shown[int(answer) - 1]
    if ":" not in answer:
        raise BadUsage(f"{answer!r} is no model.", fix="portico models list shows them.")
    return answer


def _chosen(answer: str, names: Sequence[str]) -> str | None:
    """By its number or its name; None for none of them. Raises `BadUsage`."""
    if answer in names:
        return answer
    if not answer.isdecimal() or int(answer) > len(names):
        raise BadUsage(f"{answer!r} is none of them.")
    return None if int(answer) == 0 else names[int(answer) - 1]


def _name(text: str | None) -> str:
    """Raises `BadUsage`."""
    if not text:
        raise BadUsage("It needs a name.", fix="Such as: portico agents new helper")
    if not _NAME.fullmatch(text):
        raise BadUsage(
            f"{text!r} cannot be its name.",
            fix="Begin with a letter; then letters, digits, - and _, at most 48 in all.",
        )
    return text


def _templates(server: Server) -> Sequence[Any]:
    return list(server.get("/agents/templates")["data"])
