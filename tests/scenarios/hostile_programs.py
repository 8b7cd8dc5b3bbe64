"""Two hundred programs that want out, or want all there is.

`CANARY` in a program stands for the path of a file that it must not read, `PORT` for a port that
must not be reached. A program that reaches for something gives back what it got of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent

from portico.sandbox.core.requests import CodeEnd

TIME = frozenset({CodeEnd.TOO_LONG})
MEMORY = frozenset({CodeEnd.TOO_LARGE})
EITHER = TIME | MEMORY | {CodeEnd.RAISED}
"""Which wall is met first depends on how fast the machine is, or on the interpreter's own checks of
a size before it is allocated."""
LOUD = frozenset({CodeEnd.TOO_LOUD})
CALLS = frozenset({CodeEnd.TOO_MANY_CALLS})
DEPTH = frozenset({CodeEnd.RAISED})
KEPT_OUT = frozenset({CodeEnd.FINISHED, CodeEnd.RAISED, CodeEnd.NOT_JSON})
ANY = frozenset(CodeEnd)


@dataclass(frozen=True)
class Hostile:
    family: str
    program: str
    ends: frozenset[CodeEnd]
    """How it may end; whatever it is, nothing has come out."""


def hostile_programs() -> list[Hostile]:
    families = {
        "time": (_time(), TIME),
        "memory": (_memory(), EITHER),
        "numbers and texts": (_numbers_and_texts(), EITHER),
        "depth": (_depth(), DEPTH | EITHER),
        "output": (_output(), LOUD),
        "calls": (_calls(), CALLS),
        "errors": (_errors(), ANY),
        "files": (map(got_by, _files()), KEPT_OUT),
        "environment": (map(got_by, _environment()), KEPT_OUT),
        "imports": (map(got_by, _imports()), KEPT_OUT),
        "attributes": (map(got_by, _attributes()), KEPT_OUT),
        "code": (map(got_by, _code()), KEPT_OUT | TIME),
        "functions": (_functions(), ANY),
        "results": (_results(), frozenset({CodeEnd.NOT_JSON}) | EITHER),
        "unicode": (_unicode(), ANY),
        "gathers": (_gathers(), ANY),
    }
    return [
        Hostile(family, program, ends)
        for family, (programs, ends) in families.items()
        for program in programs
    ]


def got_by(attempt: str) -> str:
    """Statements, of which the last binds `got`."""
    caught = "except BaseException as error:\n    got = repr(error)\nstr(got)[:2000]"
    return f"got = None\ntry:\n{indent(attempt, '    ')}\n{caught}"


def _time() -> Iterator[str]:
    yield "while True:\n    pass"
    yield "while 1:\n    x = 1"
    yield "n = 0\nwhile True:\n    n += 1"
    yield "a, b = 0, 1\nwhile True:\n    a, b = b, (a + b) % 1000007"
    yield "x = 0\nfor i in range(10 ** 12):\n    x ^= i"
    yield "for a in range(10 ** 6):\n    for b in range(10 ** 6):\n        pass"
    yield "def f():\n    while True:\n        pass\nf()"
    yield "f = lambda: [0 for _ in range(10 ** 5)]\nwhile True:\n    f()"
    yield "while True:\n    try:\n        while True:\n            pass\n    finally:\n        pass"
    yield "while True:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        continue"
    yield "while True:\n    sum(range(100000))"
    yield "while True:\n    sorted([3, 1, 2] * 1000)"
    yield "while True:\n    ','.join(['a'] * 10000).split(',')"
    yield "while True:\n    'ab' * 1000 in 'b' * 10000"
    yield "import json\nwhile True:\n    json.loads(json.dumps(list(range(1000))))"
    yield "import re\nwhile True:\n    re.sub('a+', 'b', 'aab' * 1000)"
    yield "import math\nx = 1.0\nwhile True:\n    x = math.sin(x)"
    yield "async def f():\n    while True:\n        pass\nawait f()"
    yield "def even(n):\n    return n == 0 or not even(n - 1)\nwhile True:\n    even(40)"
    yield "for i in range(10 ** 11):\n    str(i)"
    yield "sum(1 for i in range(10 ** 11) if i < 0)"
    yield "class A:\n    def __eq__(self, o):\n        while True:\n            pass\nA() == A()"
    yield "class A:\n    def __init__(self):\n        while True:\n            pass\nA()"
    yield "class A:\n    def __repr__(self):\n        while True:\n            pass\nstr(A())"


def _memory() -> Iterator[str]:
    yield "[0] * 10 ** 9"
    yield "'a' * 10 ** 10"
    yield "b'a' * 10 ** 10"
    yield "bytes(10 ** 10)"
    yield "(0,) * 10 ** 9"
    yield "list(range(10 ** 9))"
    yield "tuple(range(10 ** 9))"
    yield "set(range(10 ** 9))"
    yield "{i: i for i in range(10 ** 9)}"
    yield "[[i] for i in range(10 ** 9)]"
    yield "x = []\nwhile True:\n    x.append('a' * 1000)"
    yield "x = []\nwhile True:\n    x.extend([0] * 1000)"
    yield "x = [0]\nwhile True:\n    x += x"
    yield "x = 'a'\nwhile True:\n    x += x"
    yield "x = {}\ni = 0\nwhile True:\n    x[i] = str(i) * 10\n    i += 1"
    yield "x = []\nwhile True:\n    x = [x, x[:]]"


def _numbers_and_texts() -> Iterator[str]:
    yield "2 ** 10 ** 9"
    yield "10 ** 10 ** 8"
    yield "1 << 10 ** 10"
    yield "x = 3\nwhile True:\n    x = x * x"
    yield "x = 7 ** 100000\nwhile True:\n    x = x * x + 1"
    yield "int('9' * 10 ** 8)"
    yield "str(10 ** 10 ** 7)"
    yield "'%1000000000d' % 1"
    yield "'{:>1000000000}'.format('x')"
    yield "f'{1:>1000000000}'"
    yield "'x'.ljust(10 ** 10)"
    yield "'x'.zfill(10 ** 10)"
    yield "'x'.center(10 ** 10)"
    yield "'ab'.replace('', 'x' * 10 ** 6) * 10 ** 4"
    yield "'a' * 10 ** 6 + ('b' * 10 ** 6).join(['c'] * 10 ** 5)"
    yield "'\\t'.expandtabs(10 ** 10)"
    yield "sorted(range(10 ** 8), key=lambda x: -x)"
    yield "list(zip(range(10 ** 9), range(10 ** 9)))"
    yield "list(map(str, range(10 ** 9)))"
    yield "list(reversed(range(10 ** 9)))"
    yield "x = [0]\nfor _ in range(60):\n    x = [x, x]\nstr(x)"
    yield "any(False for i in range(10 ** 11))"
    yield "max(i for i in range(10 ** 11))"
    yield "x, y = [0], [0]\nfor _ in range(60):\n    x, y = [x, x], [y, y]\nx == y and 1 / 0"
    yield "import json\nx = [0]\nfor _ in range(60):\n    x = [x, x]\njson.dumps(x)"
    yield "import re\nre.findall('', 'a' * 10 ** 7 * 10)"
    yield "import re\nre.sub('', 'x' * 10 ** 6, 'a' * 10 ** 6)"
    yield "import re\nre.compile('(((a{1000}){1000}){1000}){1000}')"
    yield "import itertools\nlist(itertools.product(range(1000), repeat=4))"
    yield "import itertools\nlist(itertools.repeat(0, 10 ** 10))"
    yield "import collections\ncollections.deque(range(10 ** 9))"
    yield "x = {}\nfor i in range(10 ** 9):\n    x = {'a': x, 'b': [x] * 100}"
    yield "class A:\n    pass\nx = A()\nwhile True:\n    y = A()\n    y.x = x\n    x = y"
    yield "def f(x=[]):\n    x.append('x' * 10000)\n    return f\nwhile True:\n    f()"
    yield "x = []\nwhile True:\n    x.append(lambda: x)"
    yield "int.from_bytes(b'a' * 10 ** 9, 'big')"


def _depth() -> Iterator[str]:
    yield "def f(n):\n    return f(n + 1)\nf(0)"
    yield "f = lambda n: f(n + 1)\nf(0)"
    yield "def a():\n    b()\ndef b():\n    a()\na()"
    yield "async def f(n):\n    return await f(n + 1)\nawait f(0)"
    yield "def f():\n    try:\n        f()\n    finally:\n        f()\nf()"
    yield "def f():\n    try:\n        f()\n    except RecursionError:\n        f()\nf()"
    yield "class A:\n    def __repr__(self):\n        return repr(self)\nrepr(A())"
    yield "class A:\n    def __eq__(self, other):\n        return self == other\nA() == A()"
    yield "eval('eval(s)', {'s': 'eval(s)'})"
    yield "s = 'exec(s)'\nexec(s)"
    yield "def f(n):\n    return sorted([n, n], key=f)\nf(0)"
    yield "def f(n):\n    return [f(n) for _ in range(1)]\nf(0)"
    yield "x = []\nfor _ in range(10 ** 5):\n    x = [x]\nrepr(x) and 1 / 0"
    yield "import json\njson.loads('[' * 10 ** 5)"


def _output() -> Iterator[str]:
    yield "while True:\n    print('x' * 1000)"
    yield "while True:\n    print()"
    yield "print('x' * 10 ** 6)"
    yield "for i in range(10 ** 9):\n    print(i)"
    yield "while True:\n    print('é' * 100, end='')"
    yield "while True:\n    print('a', 'b', sep='x' * 1000)"
    yield "while True:\n    print(*['x'] * 1000)"
    yield "import sys\nwhile True:\n    print('x' * 100, file=sys.stderr)"


def _calls() -> Iterator[str]:
    yield "while True:\n    await echo(1)"
    yield "while True:\n    echo(1)"
    yield "x = []\nwhile True:\n    x.append(echo(1))"
    yield "while True:\n    try:\n        await fail()\n    except BaseException:\n        pass"
    yield "while True:\n    try:\n        open('x')\n    except BaseException:\n        pass"
    yield (
        "import os\nwhile True:\n    try:\n        os.getenv('x')\n"
        "    except BaseException:\n        pass"
    )
    yield "while True:\n    try:\n        import socket\n    except BaseException:\n        pass"
    yield "while True:\n    try:\n        undefined\n    except BaseException:\n        pass"


def _errors() -> Iterator[str]:
    yield "raise SystemExit(1)"
    yield "raise KeyboardInterrupt"
    yield "raise MemoryError('x' * 10 ** 6)"
    yield "raise TimeoutError('feed time limit exceeded')"
    yield "raise BaseException"
    yield "exit()"
    yield "quit(3)"
    yield "raise ValueError('x' * 10 ** 7)"
    yield "raise ValueError(ValueError(ValueError('deep')))"
    yield "try:\n    1 / 0\nexcept Exception as e:\n    raise e from e"
    yield "assert False, 'x' * 10 ** 7"
    yield "class E:\n    def __str__(self):\n        raise ValueError\nraise ValueError(str(E()))"
    yield "try:\n    raise ValueError\nfinally:\n    raise KeyError"
    yield "def f():\n    try:\n        return 1\n    finally:\n        raise ValueError\nf()"


def _files() -> Iterator[str]:
    yield "got = open('CANARY').read()"
    yield "got = open('CANARY', 'rb').read()"
    yield "with open('CANARY') as f:\n    got = f.read()"
    yield "got = open('CANARY', 'w').write('x')"
    yield "got = open('CANARY', 'a').write('x')"
    yield "got = open('/etc/passwd').read()"
    yield "got = open('../' * 20 + 'etc/passwd').read()"
    yield "got = open('/proc/self/environ').read()"
    yield "got = open('/proc/self/maps').read()"
    yield "got = open(0).read()"
    yield "got = open(1, 'w').write('x')"
    yield "from pathlib import Path\ngot = Path('CANARY').read_text()"
    yield "from pathlib import Path\ngot = Path('CANARY').write_text('x')"
    yield "from pathlib import Path\ngot = list(Path('/').iterdir())"
    yield "from pathlib import Path\ngot = Path('CANARY').stat()"
    yield "import os\ngot = os.listdir('/')"
    yield "import os\ngot = os.stat('CANARY')"
    yield "import os\ngot = os.remove('CANARY')"
    yield "import os\ngot = os.open('CANARY', 0)"
    yield "import io\ngot = io.open('CANARY').read()"
    yield "import os\nos.chdir('/')\ngot = open('CANARY'[1:]).read()"


def _environment() -> Iterator[str]:
    yield "import os\ngot = dict(os.environ)"
    yield "import os\ngot = os.getenv('PORTICO_CANARY')"
    yield "import os\ngot = os.environ['PORTICO_CANARY']"
    yield "import os\ngot = os.environ.get('PORTICO_CANARY')"
    yield "from os import environ\ngot = environ"
    yield "import sys\ngot = [sys.argv, sys.path, sys.executable, sys.modules]"
    yield "import sys\ngot = sys._getframe()"


def _imports() -> Iterator[str]:
    for module in ("socket", "subprocess", "ctypes", "importlib", "multiprocessing", "builtins"):
        yield f"import {module}\ngot = dir({module})"
    yield "import socket\ngot = socket.create_connection(('127.0.0.1', PORT))"
    yield "import urllib.request\ngot = urllib.request.urlopen('http://127.0.0.1:PORT').read()"
    yield "import os\ngot = os.system('cat CANARY')"
    yield "import os\ngot = os.popen('cat CANARY').read()"
    yield "import os\ngot = os.fork()"
    yield "import os\ngot = os.kill(os.getppid(), 9)"
    yield "got = __import__('os').system('id')"
    yield "got = __import__('subprocess').check_output(['id'])"
    yield "import portico\ngot = portico"


def _attributes() -> Iterator[str]:
    yield "got = ().__class__.__bases__[0].__subclasses__()"
    yield "got = ''.__class__.__mro__[1].__subclasses__()"
    yield "def f():\n    pass\ngot = f.__globals__"
    yield "def f():\n    pass\ngot = f.__code__.co_consts"
    yield "got = echo.__globals__"
    yield "got = echo.__self__"
    yield "got = echo.__code__"
    yield "got = print.__self__"
    yield "got = __builtins__"
    yield "got = globals()['__builtins__']"
    yield "got = vars()"
    yield "got = getattr((), '__cla' + 'ss__').__base__"
    yield "got = '{0.__class__.__mro__}'.format(())"
    yield "got = '{0.__globals__}'.format(echo)"
    yield "try:\n    1 / 0\nexcept Exception as e:\n    got = e.__traceback__.tb_frame.f_globals"
    yield "got = type('A', (), {'__del__': lambda s: open('CANARY')})()"
    yield "got = [c for c in object.__subclasses__() if 'Popen' in str(c)]"
    yield "got = (lambda: 0).__class__((lambda: 0).__code__, {})"
    yield "async def f():\n    pass\ngot = f().cr_frame.f_globals"


def _code() -> Iterator[str]:
    yield "got = eval(\"open('CANARY').read()\")"
    yield "exec(\"got = open('CANARY').read()\")"
    yield "got = eval(\"__import__('os').environ\")"
    yield "got = compile('1', 'x', 'eval')"
    yield "got = eval('1', {'__builtins__': {}})"
    yield "exec('while True: pass')"
    yield "got = eval('(' * 10000)"
    yield "got = eval('+'.join(['1'] * 100000))"
    yield "got = eval('lambda: ' * 5000 + '0')"
    yield "got = input()"
    yield "got = breakpoint()"


def _functions() -> Iterator[str]:
    yield "await echo('x' * 10 ** 6)"
    yield "x = []\nfor _ in range(10000):\n    x = [x]\nawait echo(x)"
    yield "x = []\nfor _ in range(10 ** 5):\n    x = [x]\nx"
    yield "x = []\nx.append(x)\nawait echo(x)"
    yield "x = 'ha'\nfor _ in range(60):\n    x = [x, x]\nawait echo(x)"
    yield "x = {}\nfor _ in range(60):\n    x = {'a': x, 'b': x}\nawait echo(**x)"
    yield "await echo(*range(100000))"
    yield "await echo(b'bytes')"
    yield "await echo(echo)"
    yield "await echo(float('nan'))"
    yield "await echo(10 ** 100000)"
    yield "await echo({1: 2, (1, 2): 3})"
    yield "await echo(**{'not a name': 1})"
    yield "await echo(self=1, pending=2)"
    yield "echo = open\nawait echo('CANARY')"
    yield "await fail()"
    yield "while True:\n    await echo(1)\n    for _ in range(10 ** 5):\n        pass"
    yield "await forever()"
    yield "x = await echo(1)\nwhile True:\n    x += 1"
    yield "await (await echo('open'))('CANARY')"
    yield "await hidden('CANARY')"
    yield "await echo.__call__('x')"
    yield "def f(*a):\n    while True:\n        pass\nsorted([1, 2], key=f)"


def _results() -> Iterator[str]:
    yield "x = 'ha'\nfor _ in range(60):\n    x = [x, x]\nx"
    yield "x = {}\nfor _ in range(60):\n    x = {'a': x, 'b': x}\nx"
    yield "['x' * 10 ** 6] * 10 ** 5"
    yield "'x' * 10 ** 6"
    yield "list(range(10 ** 5))"
    yield "float('nan')"
    yield "{1: {2: {3: open}}}"
    yield "10 ** 10 ** 5"
    yield "class A:\n    pass\n[A()] * 1000"


def _unicode() -> Iterator[str]:
    yield "\uff4f\uff50\uff45\uff4e('CANARY').read()"
    yield "''.join(chr(c) for c in [111, 112, 101, 110])"
    yield "eval('\\u006f\\u0070\\u0065\\u006e')('CANARY').read()"
    yield "x = '\\ud800'\nprint(x)\nx"
    yield "print('\\x00\\x1b[31m\\u202e' * 10)\n'\\x00'"
    yield "'\\U0010ffff' * 10 ** 5"
    yield "\U0001d4ee\U0001d4ec\U0001d4f1\U0001d4f8 = 1\n\U0001d4ee\U0001d4ec\U0001d4f1\U0001d4f8"
    yield "# -*- coding: utf-7 -*-\n1"
    yield "'ß'.upper() * 10 ** 9"
    yield "import unicodedata\nunicodedata.normalize('NFKD', '\\ufdfa' * 10 ** 7)"


def _gathers() -> Iterator[str]:
    many = "import asyncio\nawait asyncio.gather(*[{} for i in range({})])"
    yield many.format("echo(i)", 10000)
    yield many.format("asyncio.sleep(1000)", 10000)
    yield many.format("forever()", 40)
    yield many.format("fail()", 40)
    yield "import time\ntime.sleep(10 ** 9)"
    yield "import time\nwhile True:\n    time.sleep(0)"
    yield "import asyncio\nawait asyncio.sleep(float('inf'))"
    yield "import asyncio\nawait asyncio.sleep(-1)"
    yield (
        "import asyncio\nasync def f(n):\n    await asyncio.gather(f(n + 1), f(n + 1))\nawait f(0)"
    )
    yield (
        "import asyncio\nasync def f():\n    while True:\n        pass\n"
        "await asyncio.gather(f(), echo(1))"
    )
