"""Models over REST: listed, shown, tried, and who provides them."""

from tests.interfaces.http.conftest import Site

WHERE = "/api/v1/models"
LARGE = {
    "model": "router:acme/large",
    "window": 100_000,
    "most_output": None,
    "tools": "yes",
    "vision": "unknown",
    "structured": "yes",
    "price": {"input": "0.5", "output": "10"},
    "local": False,
    "clearance": "team",
    "told_by": "server",
}


async def test_models_are_listed_with_what_is_known_of_them(site: Site) -> None:
    listed = await site.ask("GET", WHERE)
    fresh = await site.ask("GET", WHERE, query="fresh=true")

    assert listed.status == fresh.status == 200
    assert [each["model"] for each in listed.json] == ["ollama:llama3.2:3b", "router:acme/large"]
    assert listed.json[1] == LARGE


async def test_a_model_is_shown_by_its_name_slashes_and_all(site: Site) -> None:
    shown = await site.ask("GET", f"{WHERE}/router:acme/large")

    assert (shown.status, shown.json) == (200, LARGE)


async def test_whoever_provides_them_is_told(site: Site) -> None:
    told = await site.ask("GET", f"{WHERE}/providers")

    assert [(each["name"], each["reachable"], each["models"]) for each in told.json] == [
        ("ollama", True, 1),
        ("router", True, 1),
    ]


async def test_a_model_is_tried(site: Site) -> None:
    tried = await site.ask("POST", f"{WHERE}/test", {"model": "router:acme/large"})

    assert tried.status == 200
    assert tried.json["model"] == LARGE
    assert (tried.json["answers"], tried.json["calls_tools"]) == (True, "no")
    assert tried.json["holds_to_form"] == "no"
