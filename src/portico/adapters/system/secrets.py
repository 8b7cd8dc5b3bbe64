"""The secret that is mixed into the stored hash of every key."""

from pathlib import Path

from portico.adapters.system.files import kept_secret
from portico.kernel.errors import Kind, PorticoError


class PepperMissing(PorticoError):
    kind = Kind.UNAVAILABLE
    code = "pepper_missing"
    title = "The pepper of the keys is missing"

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"There is no {file}, so no key of this installation can be checked.",
            fix="Bring it from the machine that ran `portico init`, or set there and here the "
            "same PORTICO_IDENTITY__PEPPER.",
        )
        self.file = file


def make_pepper(file: Path) -> None:
    kept_secret(file)


def read_pepper(file: Path) -> bytes:
    """Never made here: another one would shut out every key there is. Raises `PepperMissing`."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise PepperMissing(file) from None
