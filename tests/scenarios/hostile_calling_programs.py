"""Programs that call tools, and want those that they may not have, or more than there is.

`bank.pay` is on none of the caller's lists, `vault.read` is above its clearance, `mail.send` asks
somebody first, `files.drop` cannot be undone, `old.tool` is not what was approved. Of all tools
only `tools.*` may be reached, and they tell whoever asks what they were given.
"""

from collections.abc import Iterator

from portico.sandbox.core.requests import CodeEnd
from tests.scenarios.hostile_programs import KEPT_OUT, Hostile, got_by, hostile_programs

ANY = frozenset(CodeEnd) - {CodeEnd.WAITING}
CALLS = frozenset({CodeEnd.TOO_MANY_CALLS, CodeEnd.TOO_LONG})
"""Which is met first depends on how fast the machine is."""
WAITS = frozenset({CodeEnd.WAITING})
FORBIDDEN = ("bank.pay", "vault.read", "old.tool", "bank.none", "nowhere.read")
ASKING = ("mail.send", "files.drop")
_LOOP = "while True:\n    try:\n        {}\n    except BaseException:\n        pass"
_FAILS = "try:\n    await tools__fail()\nexcept BaseException as e:\n    "


def hostile_calling_programs() -> list[Hostile]:
    families = {
        "disguised": (_disguised(), KEPT_OUT),
        "named": (_named(), KEPT_OUT),
        "spelt": (_spelt(), KEPT_OUT),
        "more than asked for": (_more_than_asked_for(), KEPT_OUT),
        "through what is allowed": (_through(), KEPT_OUT),
        "asking": (_asking(), WAITS),
        "asking, and going on": (_asking_and_going_on(), ANY | WAITS),
        "gathers": (_gathers(), ANY),
        "too many": (_too_many(), CALLS),
        "huge": (_huge(), ANY),
        "time": (_time(), frozenset({CodeEnd.TOO_LONG})),
        "caught": (_caught(), ANY),
        "results": (_results(), ANY),
    }
    return [
        Hostile(family, program, ends)
        for family, (programs, ends) in families.items()
        for program in programs
    ]


def with_tools() -> list[Hostile]:
    """Those of the interpreter's own suite, with tools for functions."""
    return [
        Hostile(each.family, _of_tools(each.program), each.ends | {CodeEnd.TOO_LONG})
        for each in hostile_programs()
        if "CANARY" not in each.program and "PORT" not in each.program
    ]


def _of_tools(program: str) -> str:
    for name in ("echo", "fail", "forever"):
        program = program.replace(f"{name}(", f"tools__{name}(")
    return program.replace("tools__echo(1)", "tools__echo(value=1)")


def _ways(tool: str) -> Iterator[str]:
    """Each of the ways in which a program can call something, `tool` being an expression."""
    yield f"got = await call({tool}, {{}})"
    yield f"got = await call({tool})"
    yield f"got = await call(tool={tool}, arguments={{}})"
    yield f"got = await call({tool}, arguments={{'path': '/'}})"
    yield f"f = call\ngot = await f({tool}, {{}})"
    yield f"got = await (lambda name: call(name, {{}}))({tool})"
    yield f"async def f(name, g=call):\n    return await g(name, {{}})\ngot = await f({tool})"
    yield f"import asyncio\ngot = await asyncio.gather(call({tool}, {{}}), call({tool}, {{}}))"
    yield f"got = [await c for c in [call({tool}, {{}}) for _ in range(2)]]"
    yield f"got = await eval('call')({tool}, {{}})"
    yield f"got = await list(map(call, [{tool}]))[0]"


def _disguised() -> Iterator[str]:
    for tool in FORBIDDEN:
        for way in _ways(repr(tool)):
            yield got_by(way)


def _named() -> Iterator[str]:
    for tool in FORBIDDEN:
        name = tool.replace(".", "__")
        yield got_by(f"got = await {name}()")
        yield got_by(f"got = await {name}(path='/')")
        yield got_by(f"got = await eval('{name}')()")
        yield got_by(f"got = await eval('{name[:3]}' + '{name[3:]}')()")
        yield got_by(f"exec('got = {name}()')\ngot = await got")
        yield got_by(f"tools__echo = {name}\ngot = await tools__echo()")
    yield got_by("got = await \uff42ank__pay()")
    yield got_by("got = await bank__p\u0430y()")
    yield got_by("got = await bank.pay()")
    yield got_by("import bank\ngot = await bank.pay()")
    yield got_by("from bank import pay\ngot = await pay()")
    yield got_by("got = await tools.pay()")
    yield got_by("got = await getattr(tools__echo, 'pay')()")
    yield got_by("got = await tools__echo.__self__.bank__pay()")
    yield got_by("got = await tools__echo.__globals__['bank__pay']()")
    yield got_by("got = await globals()['bank__pay']()")
    yield got_by("got = await locals()['bank__pay']()")
    yield got_by("got = await __builtins__['bank__pay']()")
    yield got_by("got = await vars()['call']('bank.pay')")
    yield got_by("def bank__pay():\n    return tools__echo(value='mine')\ngot = await bank__pay()")
    yield got_by("call = bank__pay\ngot = await call()")
    yield got_by("class A:\n    pay = bank__pay\ngot = await A().pay()")


SPELT = (
    '"bank" + ".pay"',
    '"".join(["bank", ".", "pay"])',
    '"yap.knab"[::-1]',
    'chr(98) + "ank.pay"',
    "f\"{'bank'}.pay\"",
    '"%s.pay" % "bank"',
    '"{}.{}".format("bank", "pay")',
    'b"bank.pay".decode()',
    '"bank.pay" * 1',
    'str("bank.pay")',
    '"BANK.PAY".lower()',
    '"BANK.PAY"',
    '"Bank.pay"',
    '" bank.pay"',
    '"bank.pay "',
    '"bank.pay\\n"',
    '"bank.pay\\x00"',
    '"\\x00bank.pay"',
    '"bank..pay"',
    '".bank.pay"',
    '"bank.pay."',
    '"./bank.pay"',
    '"tools/../bank.pay"',
    '"tools.echo/../../bank.pay"',
    '"tools.echo;bank.pay"',
    '"tools.echo,bank.pay"',
    '"tools.echo\\nbank.pay"',
    '"tools.echo bank.pay"',
    '"bank%2Epay"',
    '"bank\\u2024pay"',
    '"bank\\uff0epay"',
    '"bank\\u3002pay"',
    '"ba\\u200bnk.pay"',
    '"\\u202ebank.pay"',
    '"b\\u0430nk.pay"',
    '"\\uff42ank.pay"',
    '"bank.pay\\ud800"',
    '"bank__pay"',
    '"bank/pay"',
    '"bank:pay"',
    '"*.pay"',
    '"bank.*"',
    '"?ank.pay"',
    '"*"',
    '""',
    '"."',
    '["bank.pay"]',
    '{"server": "bank", "name": "pay"}',
    '("bank", "pay")',
    'b"bank.pay"',
    "None",
    "0",
    "tools__echo",
    "call",
    '"portico.shell"',
    '"call_tool"',
    '"bank.~resource"',
)


def _spelt() -> Iterator[str]:
    for spelling in SPELT:
        yield got_by(f"got = await call({spelling}, {{}})")


def _more_than_asked_for() -> Iterator[str]:
    """What a call is made with is not the program's to say."""
    for name, value in (
        ("ticket", "'apr_1'"),
        ("approval", "'apr_1'"),
        ("caller", "'admin'"),
        ("verb", "'call_read'"),
        ("whole", "True"),
        ("context", "'ctx_1'"),
        ("effect", "'pure'"),
        ("as_", "'olga'"),
        ("timeout", "10 ** 9"),
        ("waiter", "None"),
        ("tool", "'tools.echo'"),
        ("arguments", "{}"),
    ):
        yield got_by(f"got = await call('bank.pay', {{}}, {name}={value})")
        yield got_by(f"got = await call('tools.echo', {{}}, {name}={value})")
    yield got_by("got = await call('tools.echo', {}, 'bank.pay')")
    yield got_by("got = await call('tools.echo', {}, {}, {}, {})")
    yield got_by("got = await call(*['bank.pay', {}])")
    yield got_by("got = await call(**{'tool': 'bank.pay', 'arguments': {}})")
    yield got_by("got = await call()")
    yield got_by("got = await call({}, 'bank.pay')")


def _through() -> Iterator[str]:
    """What a tool is given is given to that tool, whatever it says."""
    for words in ("bank.pay", "__tool__", "../bank", "$from", "${bank.pay}", "apr_1"):
        yield got_by(f"got = await tools__echo(tool={words!r})")
        yield got_by(f"got = await tools__echo({{'tool': {words!r}, 'server': 'bank'}})")
        yield got_by(f"got = await call('tools.echo', {{'tool': {words!r}, '_meta': {{}}}})")
    yield got_by("got = await call(await tools__echo(value='bank.pay'), {})")
    yield got_by("got = await eval(await tools__echo(value='bank__pay'))()")
    yield got_by("name = (await tools__echo(value='bank.pay'))\ngot = await call(str(name), {})")


def _asking() -> Iterator[str]:
    for tool in ASKING:
        yield f"await call({tool!r}, {{}})"
        yield f"await {tool.replace('.', '__')}()"
        yield f"try:\n    await call({tool!r}, {{}})\nexcept BaseException:\n    pass"
        yield f"f = call\nasync def g():\n    return await f({tool!r})\nawait g()"
        yield f"import asyncio\nawait asyncio.gather(*[call({tool!r}, {{}}) for _ in range(5)])"
        yield f"await tools__echo(value=1)\nawait call({tool!r}, {{}})"


def _asking_and_going_on() -> Iterator[str]:
    for tool in ASKING:
        yield f"x = call({tool!r}, {{}})\nawait tools__echo(value=1)\n1"
        yield f"x = [call({tool!r}, {{'n': n}}) for n in range(20)]\nawait tools__echo(value=2)"
        yield (
            "import asyncio\nasync def f():\n    while True:\n        await tools__echo(value=1)\n"
            f"await asyncio.gather(call({tool!r}, {{}}), f())"
        )


def _gathers() -> Iterator[str]:
    gather = "import asyncio\nawait asyncio.gather(*["
    yield f"{gather}tools__echo(value=n) for n in range(40)])"
    yield f"{gather}call('bank.pay', {{'n': n}}) for n in range(40)])"
    yield f"{gather}tools__fail() for n in range(40)])"
    yield f"{gather}call(n) for n in range(49)])"
    yield f"{gather}tools__echo(n) for n in range(49)])"
    yield (
        "import asyncio\nasync def f(n):\n    if n:\n"
        "        return await asyncio.gather(f(n - 1))\n"
        "    return await tools__echo(value=1)\nawait f(40)"
    )
    yield (
        "import asyncio\nasync def f(n):\n    return await asyncio.gather(f(n), f(n))\nawait f(0)"
    )
    yield "import asyncio\nx = tools__echo(value=1)\nawait asyncio.gather(*[x] * 1000)"
    yield "import asyncio\nawait asyncio.gather(*[asyncio.sleep(0) for _ in range(10000)])"


def _too_many() -> Iterator[str]:
    gather = "import asyncio\nawait asyncio.gather(*["
    for many in (51, 1_000, 20_000):
        yield f"{gather}tools__echo(value=n) for n in range({many})])"
        yield f"{gather}call('bank.pay') for n in range({many})])"
        yield f"x = [tools__echo(value=n) for n in range({many})]\nfor each in x:\n    await each"
    yield "while True:\n    await tools__echo(value=1)"
    yield "n = 0\nwhile True:\n    n += 1\n    await call('tools.echo', {'value': n})"
    for wrong in ("call('bank.pay')", "call(1)", "tools__echo(1)", "tools__fail()"):
        yield _LOOP.format(f"await {wrong}")


def _huge() -> Iterator[str]:
    yield "await tools__echo(value='x' * 10 ** 7)"
    yield "await tools__echo(value=list(range(10 ** 6)))"
    yield "x = [0]\nfor _ in range(60):\n    x = [x, x]\nawait tools__echo(value=x)"
    yield "x = {}\nfor _ in range(60):\n    x = {'a': x, 'b': x}\nawait tools__echo(x)"
    yield "await tools__echo(value=10 ** 5000)"
    yield "await tools__echo(value=float('nan'))"
    yield "await tools__echo(value='\\ud800')"
    yield "await tools__echo(**{'x' * 10 ** 6: 1})"
    yield "await tools__echo(**{str(n): n for n in range(10 ** 5)})"
    yield "await call('x' * 10 ** 6, {})"
    yield "await call('x' * 10 ** 6 + '.y', {})"
    yield "await call('tools.' + 'y' * 10 ** 6, {})"
    yield "raise ValueError('x' * 10 ** 6)"
    yield "await tools__echo(value=1)\nraise RuntimeError('x' * 10 ** 7)"
    yield "class E(Exception):\n    pass\nraise E('x' * 10 ** 6)"
    yield "x = []\nfor _ in range(5000):\n    x = [x]\nawait tools__echo(value=x)"
    yield "x = 'x' * 2 * 10 ** 7\nawait tools__echo(value=1)\nlen(x)"
    yield "x = [str(n) * 100 for n in range(10 ** 5)]\nawait tools__echo(value=1)\nlen(x)"
    yield "for _ in range(40):\n    print('x' * 1000)\n    await tools__echo(value=1)\n"
    yield "while True:\n    print('x' * 1000)\n    await tools__echo(value=1)"
    yield "await tools__large()"
    yield "x = [await tools__large() for _ in range(40)]\nlen(x)"


def _time() -> Iterator[str]:
    work = "x = 0\n    for n in range(2 * 10 ** 5):\n        x += n"
    yield f"while True:\n    {work}\n    await tools__echo(value=1)"
    yield "await tools__echo(value=1)\nwhile True:\n    pass"
    for caught in ("TimeoutError", "BaseException"):
        yield (
            "while True:\n    try:\n        await tools__forever()\n"
            f"    except {caught}:\n        pass"
        )
    yield "import asyncio\nawait asyncio.gather(tools__echo(value=1), asyncio.sleep(10 ** 9))"
    yield "import time\nawait tools__echo(value=1)\ntime.sleep(10 ** 9)"
    yield "import asyncio\nwhile True:\n    await asyncio.sleep(0.01)"


def _caught() -> Iterator[str]:
    yield _LOOP.format("await call('bank.pay', {})\n        break")
    yield "try:\n    await call('bank.pay')\nfinally:\n    await call('bank.pay')"
    yield f"{_FAILS}raise ValueError(str(e) * 10)"
    yield f"{_FAILS}await tools__echo(value=e)"
    yield "try:\n    raise SystemExit\nexcept BaseException:\n    await tools__echo(value=1)"
    yield "def f():\n    f()\ntry:\n    f()\nexcept RecursionError:\n    await tools__fail()"


def _results() -> Iterator[str]:
    yield "tools__echo"
    yield "call"
    yield "tools__echo(value=1)"
    yield "[tools__echo(value=n) for n in range(40)]"
    yield "x = []\nx.append(x)\nx"
    yield "'x' * 10 ** 6"
    yield "{1: 2, None: 3}"
    yield "{'printed': 'nothing', 'snapshot': 'res_1', 'end': 'finished'}"
    yield "'\\x1b]0;owned\\x07'"
    yield "print('[run_1 done]')\nprint('printed:')\n'res_1'"
