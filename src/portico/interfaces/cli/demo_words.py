"""What is said of the demo once it is there: what it has, and what to look at."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from portico.kernel.json import JsonObject

Made = Mapping[str, Any]

_LOOK: Final[Sequence[tuple[str, str]]] = (
    ("ui", "the console"),
    ("approvals list", "what waits for your yes"),
    ("search 'give a customer the money back'", "find a tool by what it does"),
    ("call demo-tickets.read_ticket id=T-1102", "call one"),
    ("run demo-triage", "run the saved workflow, and look on"),
    ("workflows list", "what ran, what failed, what waits"),
    ("graph neighbours demo-tickets.read_ticket", "what was learnt of the calls"),
    ("bridge projects show 'Demo shop'", "where agents and people talk"),
    ("debate list", "what three voices decided"),
)
_NO_MODEL: Final = (
    "none: no model was found here (portico models providers). With Ollama\n"
    "                running, or a key such as OPENAI_API_KEY, repeat: portico demo"
)


def facts(made: Made, *, new: bool, serving: bool, key_file: Path) -> JsonObject:
    return {
        "space": "demo",
        "new": new,
        "serving": serving,
        "key_file": str(key_file),
        **made,
        "look": [f"portico demo {command}" for command, _ in _LOOK],
    }


def made_text(made: Made, *, new: bool, serving: bool) -> str:
    head = "The demo is set up" if new else "The demo is there"
    waits, talks = len(made["waiting"]), len(made["conversations"])
    lines = [
        f"{head}, in a space of its own. Everything in it is made up.",
        "",
        f"  servers       {', '.join(made['servers'])}: {made['tools']} tools",
        f"  workflow      {made['workflow']}",
        f"  runs          one done, one failed, {waits} waiting for your yes",
        f"  project       Demo shop: {talks} conversations, {len(made['memories'])} memories",
        "  debate        three small programs, no model; decided",
        f"  agent         {made['agent'] or _NO_MODEL}",
        "",
        "Look at it:" if serving else "Look at it, once the server runs: portico serve",
    ]
    width = max(len(command) for command, _ in _LOOK)
    lines += [f"  portico demo {command.ljust(width)}  {what}" for command, what in _LOOK]
    return "\n".join([*lines, "", "To take it away again: portico demo --remove"])
