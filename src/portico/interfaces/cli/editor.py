"""The user's own editor, on a text of ours."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from portico.interfaces.cli.errors import BadUsage

_EDITORS: Final = ("VISUAL", "EDITOR")
_AT_HAND: Final = "vi"


def in_editor(text: str, name: str, *, lost: str = "nothing was changed") -> str:
    """What it has become, in a file that only we can read. Raises `BadUsage`."""
    editor = next((found for each in _EDITORS if (found := os.environ.get(each))), _AT_HAND)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 # the user's own
        if done.returncode != 0:
            raise BadUsage(f"{editor} ended with {done.returncode}: {lost}.")
        return file.read_text(encoding="utf-8")
