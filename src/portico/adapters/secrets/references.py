"""What a reference leads to, read at the moment it is needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portico.adapters.secrets.os_keyring import foreign_entry, system_keyring
from portico.adapters.system.ordinary_file import NotOrdinary, opened
from portico.guard.core.secrets import SecretRef, SecretsUnavailable, Source

_LARGEST: Final = 65_536


@dataclass(frozen=True, slots=True)
class References:
    """Everything here waits, so call it in a thread."""

    environment: Mapping[str, str]
    kept: Callable[[str, str], str | None]
    """What `portico secrets set` was given, by space and name."""
    own: tuple[Path, ...] = ()
    """Files and folders that no reference leads into."""
    own_file: Path | None = None
    """Of which only what it says of servers is given to one."""

    def value(self, space: str, ref: SecretRef) -> str | None:
        """None if there is nothing there. Raises `SecretsUnavailable`."""
        match ref.source:
            case Source.ENVIRONMENT:
                return self.environment.get(ref.name) or None
            case Source.KEYRING:
                return foreign_entry(system_keyring(), ref.service, ref.name)
            case Source.FILE:
                return self._file(ref.name)
            case Source.SECRET:
                return self.kept(space, ref.name)

    def closed(self, file: Path, pointer: str) -> bool:
        real = file.resolve()
        if self.own_file is not None and real == self.own_file.resolve():
            return not pointer.startswith("/servers/")
        return any(real.is_relative_to(each.resolve()) for each in self.own)

    def _file(self, name: str) -> str | None:
        """Without the line end that editors leave behind."""
        try:
            file = Path(name).expanduser()
            if self.closed(file, ""):
                raise SecretsUnavailable(
                    f"{name} is Portico's own", "Keep it in a file outside of Portico's folders."
                )
            with opened(file) as stream:
                text = stream.read(_LARGEST).decode()
        except FileNotFoundError:
            return None
        except NotOrdinary as error:
            fix = "Keep it in an ordinary file."
            raise SecretsUnavailable(f"{name} is no ordinary file", fix) from error
        except (OSError, RuntimeError, UnicodeDecodeError) as error:
            raise SecretsUnavailable(f"{name} cannot be read", f"Make {name} readable.") from error
        return text.rstrip("\r\n") or None
