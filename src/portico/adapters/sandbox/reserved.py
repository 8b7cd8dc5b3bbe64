"""Which folders are never given to a server unasked."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from portico.adapters.sandbox.system_view import FOLDERS
from portico.gateway.core.servers import within

_OF_THE_SYSTEM: Final = (*FOLDERS, "/etc", "/proc", "/sys", "/dev", "/run", "/boot")
"""What every box has of its own, or nobody has."""
_DRAWERS: Final = (".local", ".local/share", ".local/lib", ".local/bin", ".cache", ".config")
"""Below the home: where many programs keep something, some of them their keys."""
_OF_TOOLS: Final = (
    *(".pyenv/versions", ".local/share/uv/python", ".local/share/uv/tools", ".rye/py"),
    *(".local/share/pipx/venvs", ".local/pipx/venvs", "miniconda3", "miniforge3", "anaconda3"),
    *(".nvm/versions", ".fnm/node-versions", ".local/share/fnm/node-versions", ".volta/tools"),
    *(".bun", ".deno", ".local/share/mise/installs", ".asdf/installs", ".sdkman/candidates"),
    *(".rustup/toolchains", ".rbenv/versions", ".goenv/versions"),
)
"""Below a home: where toolchains are kept, and nothing else is."""
_OF_ALL: Final = ("/opt", "/home/linuxbrew/.linuxbrew", "/usr/local")


@dataclass(frozen=True, slots=True)
class Reserved:
    home: str
    """Of whoever Portico runs as."""
    hidden: tuple[str, ...]
    """What is Portico's own, and nobody else's to see."""
    program: tuple[str, ...] = ()
    """Portico itself, which may be seen and never changed."""

    def bar(self, path: str) -> bool:
        """Whether it is too much: the home, what holds it, the top of the disk, a drawer that
        many programs share, or something of ours."""
        if path.count("/") < 2 or within(self.home, path):
            return True
        drawers = [f"{self.home}/{each}" for each in _DRAWERS]
        return path in drawers or any(within(path, ours) for ours in self.hidden)

    def holds_ours(self, path: str) -> bool:
        """Whether who may change it could change, or take the place of, something of ours."""
        beneath = any(within(ours, path) for ours in (*self.hidden, *self.program))
        return beneath or any(within(path, ours) for ours in self.program)

    def keeps_tools(self, path: str) -> bool:
        hidden = any(within(path, ours) for ours in self.hidden)
        somebodys = any(f"/{each}/" in path for each in _OF_TOOLS)
        return not hidden and (somebodys or any(within(path, each) for each in _OF_ALL))


def of_the_system(path: str) -> bool:
    return any(within(path, folder) for folder in _OF_THE_SYSTEM)


def fewest(paths: Iterable[str], covered: Iterable[str] = ()) -> tuple[str, ...]:
    """Without those that lie in another one, or in one of `covered`."""
    known, wanted = list(covered), list(dict.fromkeys(paths))
    return tuple(
        path
        for path in wanted
        if not any(within(path, folder) for folder in known)
        and not any(within(path, other) and path != other for other in wanted)
    )
