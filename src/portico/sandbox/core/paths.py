"""The names on the way to a file, looked at before any file is: what no system would read as
written, or would read as a way out, is refused here."""

from typing import Final

from portico.sandbox.core.errors import PathRefused

LONGEST: Final = 4000
"""Bytes of a whole path; systems take 4,095, or fewer."""
LONGEST_NAME: Final = 255
DEEPEST: Final = 200


def names_of(path: str) -> tuple[str, ...]:
    """From the folder to what is named, without `.` and doubled slashes; empty for the folder
    itself. Raises `PathRefused`."""
    if reason := _unreadable(path):
        raise PathRefused(path, reason)
    names = tuple(name for name in path.split("/") if name not in {"", "."})
    if ".." in names:
        raise PathRefused(path, "'..' leads upwards")
    if len(names) > DEEPEST:
        raise PathRefused(path, f"it has more than {DEEPEST} parts")
    if any(len(name.encode()) > LONGEST_NAME for name in names):
        raise PathRefused(path, f"a name in it is longer than {LONGEST_NAME} bytes")
    return names


def names_inside(path: str) -> tuple[str, ...]:
    """As `names_of`, of something in the folder. Raises `PathRefused` for the folder itself."""
    names = names_of(path)
    if not names:
        raise PathRefused(path, "it names the folder itself")
    return names


def _unreadable(path: str) -> str | None:
    if path.startswith("/"):
        return "it is absolute"
    if "\0" in path:
        return "it holds a NUL"
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it is not UTF-8"
    return f"it is longer than {LONGEST} bytes" if length > LONGEST else None
