"""How this program was installed, and so how it is removed."""

import json
import shlex
import sys
from importlib.metadata import Distribution
from pathlib import PurePath
from typing import Final

_UVX: Final = ("archive-v", "environments-v", "builds-v")


def removal(package: str) -> str:
    told = Distribution.from_name(package)
    installer = (told.read_text("INSTALLER") or "").strip()
    origin = told.read_text("direct_url.json")
    return removal_by(package, prefix=sys.prefix, installer=installer, origin=origin)


def removal_by(package: str, *, prefix: str, installer: str, origin: str | None) -> str:
    parts = PurePath(prefix).parts
    if "pipx" in parts and "venvs" in parts:
        return f"pipx uninstall {package}"
    if "uv" in parts and "tools" in parts:
        return f"uv tool uninstall {package}"
    if any(part.startswith(_UVX) for part in parts):
        return f"uv cache clean {package}"
    python = shlex.quote(str(PurePath(prefix) / "bin" / "python"))
    if origin and json.loads(origin).get("dir_info", {}).get("editable"):
        return f"rm -r {shlex.quote(prefix)}"
    if installer == "uv":
        return f"uv pip uninstall --python {python} {package}"
    return f"{python} -m pip uninstall {package}"
