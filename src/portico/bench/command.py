"""`portico bench`, one command a benchmark."""

from cyclopts import App

app = App(name="bench", help="Measure the figures that the docs quote.", help_format="plaintext")

app.command("portico.bench.start:start", name="start", help="Until it can be used, cold and warm.")
app.command(
    "portico.bench.call:call", name="call", help="A call through the gateway, and a direct one."
)
app.command(
    "portico.bench.context:context", name="context", help="Tokens, with the gateway and without."
)
app.command(
    "portico.bench.search:search", name="search", help="Are the right tools found, and how fast."
)
app.command(
    "portico.bench.first_minute:first_minute",
    name="first-minute",
    help="From a wheel to the first answered call, as a new user.",
)
