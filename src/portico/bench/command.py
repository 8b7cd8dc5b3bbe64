"""`portico bench`, one command a benchmark."""

from cyclopts import App

app = App(name="bench", help="Measure the figures that the docs quote.", help_format="plaintext")

app.command("portico.bench.start:start", name="start", help="Until it can be used, cold and warm.")
app.command(
    "portico.bench.durable:durable", name="durable", help="Durable steps, events, and their news."
)
