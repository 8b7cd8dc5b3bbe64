"""The image without an engine: the Dockerfile's own lines, carried out in a clean Debian root.

What an engine does is done by hand: a root for each stage, `COPY`, `RUN` in a chroot, and at the
end the entry command as its user, in namespaces of its own, on a root that is mounted read-only.
Full size only: it fetches a system.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.dockerfile import DOCKERFILE, ROOT, Stage, stages
from tests.servers import IS_ROOT, reachable_folder

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.proof,
    pytest.mark.root,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not os.environ.get("PORTICO_PROOF"), reason="full size only"),
    pytest.mark.skipif(not IS_ROOT, reason="makes roots"),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason="no debootstrap here"),
]
PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OF_INSTALLERS = ("PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY")


@dataclass(frozen=True)
class Image:
    folder: Path
    stage: Stage

    @property
    def environment(self) -> Mapping[str, str]:
        return self.stage.environment(PATH)

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """As its user, with the root read-only: only the volume and `/tmp` can be written."""
        volume = f"{self.folder}{self.stage.last('VOLUME').rest}"
        script = f"""
            mount --bind {self.folder} {self.folder}
            mount --bind {volume} {volume}
            mount -t tmpfs tmpfs {self.folder}/tmp
            mount -t proc proc {self.folder}/proc
            mount -o remount,bind,ro {self.folder}
            ip link set lo up
            exec {shlex.join(self._inside(command))}
        """
        alone = ("--mount", "--pid", "--net", "--fork", "--kill-child")
        return self._popen(["unshare", *alone, "sh", "-euc", script])

    def run(self, *command: str) -> tuple[int, str]:
        return _ended(self.start(*command))

    def run_beside(self, pid: int, *command: str) -> tuple[int, str]:
        """Where `pid` is, as engines do it."""
        joined = ["nsenter", f"--target={pid}", "--mount", "--pid", "--net"]
        return _ended(self._popen([*joined, *self._inside(command)]))

    def _inside(self, command: Sequence[str]) -> list[str]:
        there = f'cd {self.stage.last("WORKDIR").rest}; exec "$@"'
        user = self.stage.last("USER").rest
        root = ["chroot", f"--userspec={user}", str(self.folder)]
        return [*root, "sh", "-euc", there, "sh", *command]

    def _popen(self, command: Sequence[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command,
            env={**self.environment, "PATH": f"{self.environment['PATH']}:{PATH}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def _ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    with process:
        said, _ = process.communicate(timeout=600)
    return process.returncode, said


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with reachable_folder() as folder:
        folder.chmod(0o755)
        clean = folder / "clean"
        made = os.environ.get("PORTICO_CLEAN_ROOT")
        if made:
            subprocess.run(["cp", "--archive", made, clean], check=True)
        else:
            release = dict(_release())["VERSION_CODENAME"]
            given = ["--variant=minbase", f"--include={PACKAGES}", release, str(clean)]
            subprocess.run(["debootstrap", *given], check=True, capture_output=True)
        roots: dict[str, Path] = {}
        for stage in stages(DOCKERFILE.read_text()):
            root = folder / (stage.name or "image")
            subprocess.run(["cp", "--archive", clean, root], check=True)
            roots[stage.name] = root
            _carry_out(stage, root, roots)
        yield Image(root, stage)


def _release() -> Iterator[tuple[str, str]]:
    for line in Path("/etc/os-release").read_text().splitlines():
        name, _, value = line.partition("=")
        yield name, value.strip('"')


def _carry_out(stage: Stage, root: Path, roots: Mapping[str, Path]) -> None:
    folder = "/"
    for step in stage.steps:
        match step.word:
            case "WORKDIR":
                folder = step.rest
                (root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "COPY":
                _copy(step.rest.split(), root / folder.lstrip("/"), root, roots)
            case "RUN":
                with _outside(root):
                    _in_root(root, folder, step.rest, stage.environment(PATH))
            case _:
                pass  # what is said of the image, and nothing done


def _copy(words: list[str], folder: Path, root: Path, roots: Mapping[str, Path]) -> None:
    context = ROOT
    if words[0].startswith("--from="):
        context = roots[words.pop(0).partition("=")[2]]
    *sources, target = words
    into = root / target.lstrip("/") if target.startswith("/") else folder / target
    for source in sources:
        given = context / source.lstrip("/")
        if given.is_dir():
            kept = shutil.ignore_patterns("__pycache__")
            shutil.copytree(given, into, symlinks=True, dirs_exist_ok=True, ignore=kept)
        else:
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy2(given, into)


def _in_root(root: Path, folder: str, command: str, environment: Mapping[str, str]) -> None:
    given = {name: text for name, text in os.environ.items() if name in OF_INSTALLERS}
    done = subprocess.run(
        ["chroot", root, "sh", "-euc", f"cd {shlex.quote(folder)}; {command}"],
        env={**given, **environment, "HOME": "/root", "PORTICO_VERSION": "0.1.0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@contextmanager
def _outside(root: Path) -> Iterator[None]:
    """How this machine reaches its packages, while something is installed."""
    brought = [Path(each) for each in ("/etc/resolv.conf", "/etc/hosts")]
    brought += [Path(os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt"))]
    for file in brought:
        if file.exists():
            shutil.copy2(file.resolve(), root / str(file).lstrip("/"))
    yield


def _lines(process: "subprocess.Popen[str]", until: str) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if until in line:
            return said
    raise AssertionError(said)


@pytest.mark.requirement("release:image:confined")
def test_the_entry_command_serves_as_an_ordinary_user_on_a_read_only_root(image: Image) -> None:
    entry = image.stage.last("ENTRYPOINT").words

    who = image.run("sh", "-c", "id -u; touch /opt/portico/x || echo refused")
    assert who[1].splitlines()[0] == "10001"
    assert "refused" in who[1]
    code, said = image.run(*entry, "init", "--name", "ana")
    assert code == 0, said
    assert image.run(*entry, "version")[1].split()[:2] == ["portico", "0.1.0"]

    with image.start(*entry, *image.stage.last("CMD").words) as serving:
        said = _lines(serving, "3100")
        first = _child(serving.pid)
        deadline = time.monotonic() + 300
        while (health := image.run_beside(first, *image.stage.health))[0] != 0:
            assert time.monotonic() < deadline, (said, health)
            time.sleep(0.2)
        status = image.run_beside(first, *entry, "status", "--json")
        os.kill(first, signal.SIGTERM)
        serving.communicate(timeout=120)

    assert json.loads(status[1].splitlines()[-1])["ready"] is True
    assert serving.returncode == 0
    assert image.run(*image.stage.health)[0] != 0


def _child(pid: int) -> int:
    """What `unshare` has started."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
