"""`just bench`: those of `portico bench`, and those that only this repository has."""

from cyclopts import App

app = App(name="bench", help="Measure the figures that the docs quote.", help_format="plaintext")

app.command("portico.bench.start:start", name="start", help="Until it can be used, cold and warm.")
app.command(
    "benchmarks.durable:durable", name="durable", help="Durable steps, events, and their news."
)
app.command(
    "portico.bench.call:call", name="call", help="A call through the gateway, and a direct one."
)
app.command(
    "portico.bench.context:context", name="context", help="Tokens, with the gateway and without."
)
app.command(
    "benchmarks.search:search", name="search", help="Are the right tools found, and how fast."
)
app.command("benchmarks.box:box", name="box", help="What a box costs, and what it holds.")
app.command(
    "benchmarks.hostile:hostile", name="hostile", help="What rules see of attacks, and what not."
)
app.command("benchmarks.guard:guard", name="guard", help="Deciding, and writing it down.")
app.command("benchmarks.workflow:workflow", name="workflow", help="Plans, and the same on less.")
app.command(
    "benchmarks.edges:edges", name="edges", help="Which output feeds which argument of a plan."
)
app.command(
    "benchmarks.suggest:suggest", name="suggest", help="Is the right plan suggested, how surely."
)
app.command(
    "benchmarks.graph:graph", name="graph", help="The learnt graph: reading it, ways, ranks."
)
app.command(
    "benchmarks.ahead:ahead", name="ahead", help="Calls made ahead: what is won, and wasted."
)
app.command(
    "benchmarks.agents:agents", name="agents", help="Agents: a turn, many runs, the first word."
)
app.command(
    "benchmarks.bridge:bridge", name="bridge", help="The bridge: unread, pages, search, sends."
)
app.command(
    "benchmarks.debate:debate",
    name="debate",
    help="Debates: right for their calls, and when not.",
)
app.command(
    "benchmarks.web:web", name="web", help="The console: pages, live tabs, what they weigh."
)
app.command(
    "portico.bench.first_minute:first_minute",
    name="first-minute",
    help="From a wheel to the first answered call, as a new user.",
)
