"""What Portico weighs, and whether `budget.toml` allows it.

python .ci/size.py                 the source and the tests, in a few seconds
python .ci/size.py --installed     also the wheel, and what an installation from the lock takes
python .ci/size.py [--installed] --check   exits with 1 if anything is above its budget
python .ci/size.py --shape         by package: files, folders, imports, classes, modules, circles
    --json                         one JSON object
    --write FILE                   the same, into a file
"""

import argparse
import ast
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from shape import Module, shapes, table  # beside this file

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "portico"
PACKAGES = ("code_lines", "statements", "files")
"""What is counted for each package of src/portico."""


def source_modules() -> dict[Path, Module]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        found[path] = Module(name, code_lines(text, tree), statements(tree), tree)
    return found


def source_sizes() -> dict[str, int | dict[str, int]]:
    """Of src/portico, and by package; a module beside the packages counts for `portico`."""
    rows = shapes(source_modules())
    whole = rows.pop("all")
    return {
        **{f"src_{name}": int(whole[name]) for name in (*PACKAGES, "folders", "import_lines")},
        "largest_module": int(whole["largest"]),
        **{name: {package: int(row[name]) for package, row in rows.items()} for name in PACKAGES},
    }


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines that are neither blank, nor a comment, nor of a docstring."""
    documented = {
        number
        for each in docstrings(tree)
        for number in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }
    return sum(
        1
        for number, line in enumerate(text.splitlines(), start=1)
        if (code := line.strip()) and not code.startswith("#") and number not in documented
    )


def statements(tree: ast.Module) -> int:
    everything = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    return everything - sum(1 for _ in docstrings(tree))


def docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """Of modules, classes and functions, and the strings that explain a name above them."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for each in body if isinstance(body, list) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield each


def test_lines() -> int:
    return sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "tests").rglob("*.py")
    )


def installed_sizes() -> dict[str, int]:
    """Of the wheel, and of an environment that has it and the lock."""
    with tempfile.TemporaryDirectory(prefix="portico-size-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", f"--outdir={folder}")
        [wheel] = folder.glob("*.whl")
        python = folder / "venv" / "bin" / "python"
        uv = ("uv", "pip", "install", "--quiet", f"--python={python}")
        _run("uv", "venv", "--quiet", f"--python={sys.executable}", str(folder / "venv"))
        _run(*uv, "--require-hashes", "-r", "requirements/run.txt")
        _run(*uv, "--no-deps", str(wheel))
        [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
        found = {
            "wheel_bytes": wheel.stat().st_size,
            "installed_mb": round(_bytes_below(packages) / 1_000_000),
            "packages": len([*packages.glob("*.dist-info")]),
        }
        return {**found, "modules_until_ready": _modules_until_ready(python, folder / "home")}


def _bytes_below(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files)


def _modules_until_ready(python: Path, home: Path) -> int:
    home.mkdir(mode=0o711)
    environment = {
        **{
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("PORTICO_", "PYTHON"))
        },
        "PORTICO_HOME": str(home),
        "PORTICO_SERVER__PORT": str(_free_port()),
    }
    if os.geteuid() == 0:
        environment["PORTICO_DATABASE__RUN_AS"] = "portico"
    portico = python.with_name("portico")
    _run(str(portico), "--quiet", "init", environment=environment)
    log = home / "imports"
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [python, "-X", "importtime", portico, "serve"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        _wait_ready(f"http://127.0.0.1:{environment['PORTICO_SERVER__PORT']}/readyz", server)
        lines = log.read_text(errors="replace").splitlines()
    finally:
        server.terminate()
        server.wait(60)
    return sum(bool(re.match(r"import time: +\d+ \|", line)) for line in lines)


def _wait_ready(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 # our own server
                return
        except OSError:
            pass
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the server did not become ready")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(*command: str, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")


def sizes(*, installed: bool) -> dict[str, int | dict[str, int]]:
    return {
        "test_lines": test_lines(),
        **(installed_sizes() if installed else {}),
        **source_sizes(),
    }


def flat(found: Mapping[str, object]) -> dict[str, int]:
    """`{"files": {"guard": 1}}` as `{"files.guard": 1}`."""
    result: dict[str, int] = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            result |= {f"{name}.{package}": int(size) for package, size in value.items()}
        elif isinstance(value, int):
            result[name] = value
    return result


def excesses(actual: Mapping[str, int], budget: Mapping[str, int]) -> list[str]:
    """What is above its budget, or has none."""
    found = []
    for name, size in actual.items():
        allowed = budget.get(name)
        if allowed is None:
            found.append(f"{name} is {size:,} and has no line in budget.toml")
        elif size > allowed:
            found.append(f"{name} is {size:,}, {size - allowed:,} above its budget of {allowed:,}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="What Portico weighs.")
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--shape", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path)
    wish = parser.parse_args()
    if wish.shape:
        rows = shapes(source_modules())
        print(json.dumps(rows) if wish.json else table(rows))
        return 0
    found = sizes(installed=wish.installed)
    if wish.write:
        wish.write.write_text(json.dumps(found))
    if wish.json:
        print(json.dumps(found))
        return 0
    budget = flat(tomllib.loads((ROOT / "budget.toml").read_text(encoding="utf-8")))
    actual = flat(found)
    for name, size in actual.items():
        print(f"{size:>12,} of {budget.get(name, 0):>12,}  {name}")
    above = excesses(actual, budget) if wish.check else []
    print("\n".join(f"✗ {each}" for each in above), end="\n" if above else "", file=sys.stderr)
    if above:
        print(
            "Make it smaller, or raise the number in budget.toml with its reason.", file=sys.stderr
        )
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
