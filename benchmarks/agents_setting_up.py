"""What an operator does before `just bench agents` can measure anything: a provider of models,
a server of tools, and an agent that may use both."""

from pathlib import Path
from typing import Final

import httpx2

from benchmarks.agents_model import MODEL
from benchmarks.agents_tools import PROGRAM
from portico.bench.clients import asked, let_in

AGENT: Final = "worker"
SERVER: Final = "counting"
TELLER: Final = "teller"
"""An agent on a real model, without tools."""
REAL: Final = "smollm2"
_PROVIDER: Final = "bench"
_REAL_PROVIDER: Final = "llama"
_INSTRUCTIONS: Final = "Look up what you are asked for, one thing after the other."
_WORDS: Final = 16
"""Tokens of an answer of which only the first word counts."""


def write_settings(home: Path, url: str) -> None:
    """The model is spoken to as any server of OpenAI's protocol."""
    with (home / "config" / "portico.toml").open("a", encoding="utf-8") as stream:
        stream.write(
            f"\n[models]\ndiscover = false\n\n[models.providers.{_PROVIDER}]\n"
            f'kind = "compatible"\nurl = "{url}"\ntools = true\nstructured = true\n'
        )


def write_real_settings(home: Path, url: str) -> None:
    with (home / "config" / "portico.toml").open("a", encoding="utf-8") as stream:
        stream.write(f'\n[models.providers.{_REAL_PROVIDER}]\nkind = "compatible"\nurl = "{url}"\n')


def describe(client: httpx2.Client, ledger: Path) -> None:
    launch = {
        "type": "stdio",
        "command": PROGRAM[0],
        "arguments": [*PROGRAM[1:], str(ledger)],
        "folder": str(_open_to_all(ledger).parent),
    }
    let_in(client, SERVER, launch)
    agent = {
        "name": AGENT,
        "description": "Looks things up.",
        "instructions": _INSTRUCTIONS,
        "model": f"{_PROVIDER}:{MODEL}",
        "tools": [f"{SERVER}.*"],
    }
    asked(client, "POST", "/agents", agent)


def _open_to_all(ledger: Path) -> Path:
    """In its box the server is another account than we are."""
    ledger.parent.mkdir()
    ledger.parent.chmod(0o777)
    ledger.touch()
    ledger.chmod(0o666)
    return ledger


def describe_real(client: httpx2.Client) -> None:
    agent = {
        "name": TELLER,
        "instructions": _INSTRUCTIONS,
        "model": f"{_REAL_PROVIDER}:{REAL}",
        "most_output": _WORDS,
    }
    asked(client, "POST", "/agents", agent)


def body(model: str, message: str) -> dict[str, object]:
    """The same question as an agent of ours asks it, asked by a client that stands alone."""
    messages = [
        {"role": "system", "content": _INSTRUCTIONS},
        {"role": "user", "content": message},
    ]
    return {"model": model, "messages": messages, "max_tokens": _WORDS, "stream": True}
