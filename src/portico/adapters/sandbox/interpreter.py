"""Which Python runs the launcher, and where it finds it."""

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from portico.adapters.sandbox import inside

_SYSTEM: Final = "/usr/bin/python3"
_TRIAL: Final = "import sys, ctypes, resource, socket, json; sys.exit(sys.version_info < (3, 11))"
_BEGIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); sys.dont_write_bytecode = True; "
    "from portico.adapters.sandbox.inside.launcher import main; main(*map(int, sys.argv[2:]))"
)
_MODULES: Final = "portico/adapters/sandbox/inside"
HERE: Final = str(Path(inside.__file__).parent)
LIBRARY: Final = str(Path(inside.__file__).parents[4])
LIBRARY_INSIDE: Final = "/run/portico"
MODULES_INSIDE: Final = f"{LIBRARY_INSIDE}/{_MODULES}"


@dataclass(frozen=True, slots=True)
class Interpreter:
    program: str
    folders: tuple[str, ...] = ()
    """What it needs beside the folders of the system."""

    def command(self, library: str, *descriptors: int) -> list[str]:
        return [self.program, "-I", "-S", "-c", _BEGIN, library, *map(str, descriptors)]


def own() -> Interpreter:
    """The one that we run in, without its environment."""
    base = Path(sys.base_prefix).resolve()
    program = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    return Interpreter(str(program), _outside_the_system(str(base), str(program.parent)))


@cache
def of_the_system() -> Interpreter:
    """The one that every box has anyway, if there is one; else our own."""
    trial = [_SYSTEM, "-I", "-S", "-c", _TRIAL]
    try:
        done = subprocess.run(trial, timeout=20, check=False, capture_output=True, env={})  # noqa: S603 # a fixed program
    except (OSError, subprocess.TimeoutExpired):
        return own()
    return Interpreter(_SYSTEM) if done.returncode == 0 else own()


def _outside_the_system(*folders: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(each for each in folders if not each.startswith(("/usr/", "/bin", "/lib")))
    )
