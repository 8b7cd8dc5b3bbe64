"""What `portico --help` says, and by which other names commands are known."""

from collections.abc import Mapping

from portico.interfaces.cli.commands import overview


def helps() -> Mapping[str, str]:
    """By the name of the file."""
    return {"portico.txt": overview({}) + "\n"}
