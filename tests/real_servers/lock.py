"""Resolves the pins of the catalogue again: python -m tests.real_servers.lock

The locks hold versions and hashes and no address, so that they work behind any registry.
"""

import json
import tempfile
from pathlib import Path

from tests.real_servers.catalogue import Shelf
from tests.real_servers.install import lock_file, run, run_npm, uv
from tests.real_servers.pins import manifest, requirements

KEPT = ("name", "version", "integrity", "dependencies", "bin", "peer", "optional")
"""Of what npm writes about a package; the rest is licences, engines and addresses."""


def lock_npm(folder: Path) -> None:
    (folder / "package.json").write_text(manifest())
    run_npm(folder, "install", "--package-lock-only", "--omit=optional", "--omit=peer")
    lock = json.loads((folder / "package-lock.json").read_text())
    lock["packages"] = {
        place: {key: package[key] for key in KEPT if key in package}
        for place, package in lock["packages"].items()
    }
    lock_file(Shelf.NPM).write_text(json.dumps(lock, indent=1) + "\n")


def lock_python(folder: Path, shelf: Shelf) -> None:
    wanted = folder / f"{shelf}.in"
    wanted.write_text("\n".join(requirements(shelf)))
    run(
        uv(),
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--no-emit-index-url",
        "--no-header",
        "--no-annotate",
        "--only-binary=:all:",
        "--python-version=3.11",
        str(wanted),
        "-o",
        str(lock_file(shelf)),
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        lock_npm(Path(scratch))
        for python in (Shelf.MODERN, Shelf.LEGACY, Shelf.OLDEST):
            lock_python(Path(scratch), python)
