"""What this is, and help for the shell."""

import platform
from typing import Literal

from portico.interfaces.cli.terminal import At


def version(*, at: At) -> None:
    """Which version this is."""
    facts = {
        "portico": at.house.version,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    at.data(facts, f"portico {facts['portico']} (Python {facts['python']}, {facts['platform']})")


def completion(shell: Literal["bash", "zsh", "fish"], /, *, at: At) -> None:
    """Print the completion script for SHELL; add it to that shell's start-up file."""
    from portico.interfaces.cli.app import build

    script = build().generate_completion(shell=shell)
    at.data({"shell": shell, "script": script}, script)
