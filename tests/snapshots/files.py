"""What programs and people see, kept as files: `python -m tests.snapshots.write` writes them anew.

Beside them, held by `docs/generate.py --check`: `docs/reference/openapi.json`, `cli.md` (what each
command takes, and what its help says) and `errors.md`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

KEPT: Final = Path(__file__).parent / "kept"
REFRESH: Final = "python -m tests.snapshots.write"


def kept(kind: str) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted((KEPT / kind).iterdir())}


def write(kind: str, texts: Mapping[str, str]) -> None:
    folder = KEPT / kind
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
