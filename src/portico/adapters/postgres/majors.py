"""Which databases lie in the embedded server's folder: each in a folder named by its version."""

from pathlib import Path


def locks_folder(postgres: Path) -> Path:
    """Beside the server's own folder: as root, that one belongs to another account."""
    return postgres.with_name(f"{postgres.name}-locks")


def existing_major(postgres: Path) -> int | None:
    """The version of the database that is there: of several, the newest is in use, and the others
    are what is left of it from before an upgrade."""
    return max(majors(postgres), default=None)


def majors(postgres: Path) -> list[int]:
    try:
        return sorted(int(part.name) for part in postgres.iterdir() if part.name.isdecimal())
    except OSError:
        return []
