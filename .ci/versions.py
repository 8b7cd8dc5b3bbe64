"""The fast tests against other versions than the lock's, since users do not install our lock.

python .ci/versions.py newest        the newest allowed; writes requirements/newest.txt
python .ci/versions.py lowest        the lowest direct ones
python .ci/versions.py python 3.12   the lock on another Python; exits with 77 where there is none
python .ci/versions.py uv-tool       tests/installed, with the wheel installed by `uv tool`
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHECKOUT = Path(os.environ.get("PORTICO_NIGHTLY_ROOT", ROOT))
"""Where the newest versions are written to: the run itself may be in a copy."""
NEWEST = Path("requirements", "newest.txt")
LOCK = ROOT / "requirements" / "dev.txt"
SKIPPED = 77
_PINNED = re.compile(r"^([a-z0-9._-]+)==[^ \\\n]+(?: ; [^\\\n]+)?", re.MULTILINE)
_FAST = ("-m", "not scenario and not postgres and not process and not nightly")


def resolved(path: Path, *options: str) -> Path:
    run(
        *("uv", "pip", "compile", "--quiet", "--universal", "--no-emit-index-url"),
        *("--no-annotate", "--no-header", "--python-version=3.11", *options),
        *("pyproject.toml", f"--output-file={path}"),
    )
    return path


def with_test_tools(versions: Path) -> str:
    """These versions, and for what they do not name (the tests' own tools) those of the lock."""
    text = versions.read_text()
    named = {match[1] for match in _PINNED.finditer(text)}
    tools = [match[0] for match in _PINNED.finditer(LOCK.read_text()) if match[1] not in named]
    return "\n".join([text, *tools])


def fast_tests(
    folder: Path, requirements: Path, *options: str, python: str = sys.executable
) -> None:
    venv = folder / "venv"
    run("uv", "venv", "--quiet", f"--python={python}", str(venv))
    install = ("uv", "pip", "install", "--quiet", f"--python={venv / 'bin' / 'python'}")
    run(*install, *options, "-r", str(requirements))
    run(*install, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    os.environ["PATH"] = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    pytest = str(venv / "bin" / "pytest")
    run(pytest, "-n3", "--dist=loadscope", "--hypothesis-profile=gate", *_FAST)


def interpreters(version: str) -> Iterator[str]:
    """Those that start: pyenv has a program on the PATH for each version that it knows of, which
    fails where the version is not chosen."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *root.glob(f"versions/{version}.*/bin/python")]
    for each in map(str, filter(None, candidates)):
        if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
            yield each


def main(what: str, version: str = "") -> int:
    if what == "uv-tool":
        os.environ["PORTICO_INSTALLER"] = "uv-tool"
        run("pytest", "tests/installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="portico-versions-", dir="/var/tmp") as name:
        folder = Path(name)
        if what == "python":
            python = next(interpreters(version), None)
            if python is None:
                print(f"skipped: no Python {version} here")
                return SKIPPED
            fast_tests(folder, LOCK, "--require-hashes", python=python)
            return 0
        if what == "newest":
            versions = resolved(folder / "newest.txt", "--upgrade")
            shutil.copy(versions, CHECKOUT / NEWEST)
        else:
            versions = resolved(folder / "lowest.txt", "--resolution=lowest-direct")
        everything = folder / "everything.txt"
        everything.write_text(with_test_tools(versions))
        fast_tests(folder, everything)
    return 0


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
