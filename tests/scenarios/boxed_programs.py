"""Programs that mean ill, each with the sign that it did what it is there for, and was ended."""

from collections.abc import Callable
from dataclasses import dataclass

from portico.sandbox.core.probes import Backend
from portico.sandbox.core.requests import End, Outcome

DEAF = "import signal\nfor each in (1, 2, 3, 13, 15): signal.signal(each, signal.SIG_IGN)\n"
SLEEPER = f"{DEAF}import time\ntime.sleep(300)\n"
HEAD = f"""\
import os, signal, sys, threading, time
MARK = sys.argv[1]
SLEEPER = {SLEEPER!r}
def sleeper():
    os.execve(sys.executable, [sys.executable, "-c", SLEEPER, MARK], {{}})
def say(*words):
    print(*words, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Hostile:
    name: str
    text: str
    seen: Callable[[Outcome], bool]
    """Whether it did its thing, and met its limit."""
    open_in: tuple[Backend, ...] = ()
    """Where it meets none, as the published table says."""

    @property
    def program(self) -> str:
        return f"{HEAD}{self.text}"


def _ended(*ends: End, said: bytes = b"") -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.end in ends and said in outcome.output


def _said(word: bytes) -> Callable[[Outcome], bool]:
    return _ended(End.EXITED, said=word)


def _said_or_large(word: bytes) -> Callable[[Outcome], bool]:
    return lambda outcome: (
        outcome.end in (End.TOO_LARGE, End.KILLED)
        or (outcome.end is End.EXITED and word in outcome.output)
    )


FORCED = (End.TOO_LONG, End.TOO_LARGE, End.KILLED)

PROGRAMS = [
    Hostile(
        "fork bomb",
        """\
refused = False
while True:
    try:
        os.fork()
    except OSError:
        if not refused:
            refused = True
            say("refused")
""",
        _ended(*FORCED, said=b"refused"),
    ),
    Hostile(
        "fork bomb that leaves its session",
        """\
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        say("refused")
        time.sleep(0.05)
""",
        _ended(*FORCED, End.TOO_LOUD, said=b"refused"),
    ),
    Hostile(
        "memory bomb",
        """\
kept = []
try:
    while True:
        kept.append(b"x" * (4 << 20))
except MemoryError:
    kept.clear()
    say("no more")
""",
        _said_or_large(b"no more"),
    ),
    Hostile(
        "memory bomb of many",
        """\
for _ in range(6):
    if os.fork() == 0:
        kept = b"x" * (40 << 20)
        time.sleep(60)
time.sleep(60)
""",
        _ended(*FORCED),
    ),
    Hostile("flood", "while True: os.write(1, b'y' * 65536)\n", _ended(End.TOO_LOUD)),
    Hostile("flood of errors", "while True: os.write(2, b'y' * 65536)\n", _ended(End.TOO_LOUD)),
    Hostile(
        "flood by a child",
        """\
if os.fork() == 0:
    os.setsid()
    while True: os.write(1, b"y" * 65536)
time.sleep(60)
""",
        _ended(End.TOO_LOUD),
    ),
    Hostile(
        "orphans",
        """\
for _ in range(5):
    if os.fork() == 0:
        sleeper()
say("left them")
""",
        _said(b"left them"),
    ),
    Hostile(
        "daemon",
        """\
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 64)
        sleeper()
    os._exit(0)
os.waitpid(child, 0)
say("left it")
""",
        _said(b"left it"),
    ),
    Hostile(
        "grandchild that keeps the pipes",
        """\
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        sleeper()
    os._exit(0)
os.waitpid(child, 0)
say("left it")
""",
        _said(b"left it"),
    ),
    Hostile(
        "links that lead out",
        """\
made = 0
for number, target in enumerate(["/", "/etc", "/var/tmp", "/tmp", "/dev/shm", "..", "../.."] * 3):
    os.symlink(target, f"link-{MARK}-{number}")
    made += 1
    try:
        open(f"link-{MARK}-{number}/{MARK}-{number}", "w").write("out")
    except OSError:
        pass
say("planted", made)
""",
        _said(b"planted 21"),
    ),
    Hostile(
        "files everywhere",
        """\
refused = 0
for folder in ("/", "/etc", "/usr", "/var", "/var/tmp", "/var/lib", "/dev/shm", "/run", "/srv",
               os.path.expanduser("~"), "/home", "..", "../..", "/proc/self/cwd/.."):
    try:
        open(f"{folder}/{MARK}", "w").write("out")
    except OSError:
        refused += 1
say("refused", refused > 5)
""",
        _said(b"refused True"),
    ),
    Hostile("deaf and slow", f"{DEAF}say('deaf')\ntime.sleep(300)\n", _ended(End.TOO_LONG)),
    Hostile(
        "without pipes",
        "os.close(0); os.close(1); os.close(2)\ntime.sleep(300)\n",
        _ended(End.TOO_LONG),
    ),
    Hostile("stopped", "os.kill(os.getpid(), signal.SIGSTOP)\n", _ended(End.TOO_LONG)),
    Hostile(
        "itself again and again",
        """\
say("again")
time.sleep(0.02)
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", sys.argv[2], MARK, sys.argv[2]])
""",
        _ended(End.TOO_LONG, said=b"again\nagain\n"),
    ),
    Hostile(
        "open files",
        """\
kept = []
try:
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    os.write(1, f"stopped {error.errno}".encode())
""",
        _said(b"stopped 24"),
    ),
    Hostile(
        "disk",
        """\
import tempfile
number = 0
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    while number < 12:
        number += 1
        with open(f"{tempfile.gettempdir()}/{MARK}-{number}", "wb") as file:
            for _ in range(8):
                file.write(bytes(1 << 20))
except OSError as error:
    say("stopped", error.errno)
""",
        _said_or_large(b"stopped"),
        open_in=(Backend.LANDLOCK,),
    ),
    Hostile(
        "large file",
        """\
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open(f"large-{MARK}", "wb") as file:
        while True:
            file.write(bytes(1 << 20))
except OSError as error:
    say("stopped", error.errno)
os.unlink(f"large-{MARK}")
""",
        _said(b"stopped 27"),
    ),
    Hostile(
        "kills all that it can",
        """\
say("now")
try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass
os.kill(os.getpid(), signal.SIGKILL)
""",
        _ended(End.KILLED, said=b"now"),
    ),
    Hostile(
        "zombies",
        """\
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
say("twenty")
""",
        _said(b"twenty"),
    ),
    Hostile(
        "threads",
        """\
threading.stack_size(65536)
try:
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
except RuntimeError:
    say("no more")
os._exit(0)
""",
        _said(b"no more"),
    ),
    Hostile(
        "crash",
        "say('down')\nos.kill(os.getpid(), signal.SIGSEGV)\n",
        _ended(End.KILLED, said=b"down"),
    ),
]
