"""What a browser without a key is answered, from outside, route by route."""

from fastapi.routing import iter_route_contexts
from starlette.responses import PlainTextResponse

from portico.interfaces.http.app import PLACES, build
from portico.interfaces.http.middleware import allowed
from tests.interfaces.http.asgi import Answer, ask
from tests.interfaces.http.conftest import HOST, Site, nothing_running
from tests.interfaces.http.doors import OPEN
from tests.interfaces.http.test_walls import filled

CONSOLE = "the console"
BROWSER = [HOST, (b"accept", b"text/html,application/xhtml+xml,*/*;q=0.8")]


def routes_of(site: Site) -> set[tuple[str, str]]:
    return {
        (method, str(route.path_format))
        for route in iter_route_contexts(site.inside.routes)
        for method in route.methods or ()
        if method != "HEAD"
    }


async def test_the_places_of_the_routes_are_those_that_are_named(site: Site) -> None:
    assert {path.split("/")[1] for _, path in routes_of(site)} == PLACES


async def test_open_routes_answer_a_browser_and_all_others_want_a_key(site: Site) -> None:
    console = PlainTextResponse(CONSOLE)
    app = build(site.use, site.gateway, allowed(3100, None), nothing_running, beside={"/": console})

    answers: dict[tuple[str, str], Answer] = {
        route: await ask(app, route[0], filled(route[1]), headers=BROWSER)
        for route in sorted(routes_of(site))
    }

    assert [route for route, answer in answers.items() if answer.body == CONSOLE.encode()] == []
    assert {route for route, answer in answers.items() if answer.status != 401} == OPEN
    assert (await ask(app, "GET", "/nosuch", headers=BROWSER)).body == CONSOLE.encode()
