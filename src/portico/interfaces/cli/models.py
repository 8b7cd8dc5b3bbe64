"""Models, from the command line: which there are, and whether they work."""

from typing import TYPE_CHECKING, Any

from cyclopts import App

from portico.interfaces.cli.agent_server import AgentServer, model_path
from portico.interfaces.cli.errors import ModelDoesNotAnswer
from portico.interfaces.cli.terminal import PLAIN, At

if TYPE_CHECKING:
    from portico.kernel.json import JsonObject

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
        found = AgentServer(at.house).get("/models", fresh=fresh or None)
    columns = ["model", "window", "tools", "vision", "structured", "price", "clearance", "told_by"]
    at.table(columns, [_row(each) for each in found], {"data": found}, right=["window", "price"])
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
    found = AgentServer(at.house).get(model_path(model))
    at.facts(found if at.json else {**found, "price": _price(found["price"])})


@app.command(name="providers", sort_key=3)
def providers(*, fresh: bool = False, at: At) -> None:
    """Who provides models, whether they answer, and what to do if they do not.

    Parameters
    ----------
    fresh
        Ask them again, now.
    """
    with at.working("asking who provides models"):
        found = AgentServer(at.house).get("/models/providers", fresh=fresh or None)
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
        found = AgentServer(at.house).post("/models/test", {"model": model})
    told: JsonObject = {**found, "model": found["model"]["model"]}
    at.facts(found if at.json else {name: it for name, it in told.items() if it not in (None, [])})
    if not found["answers"]:
        raise ModelDoesNotAnswer(model, found["problem"], found["fix"])


def _row(model: dict[str, Any]) -> "JsonObject":
    return {**model, "price": _price(model["price"])}


def _price(price: dict[str, str] | None) -> str:
    if price is None:
        return "unknown"
    if price["input"] == price["output"] == "0":
        return "free"
    return f"{price['input']} / {price['output']}"
