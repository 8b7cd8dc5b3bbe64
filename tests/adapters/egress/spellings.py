"""Ways to write the address of this machine, or of a neighbour, so that it looks like another."""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import Final

KNOWN: Final = [
    *("http://127.0.0.1/", "http://localhost/", "http://0/", "http://0.0.0.0/", "http://127.1/"),
    *("http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://[::1]/"),
    *("http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    *("http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::7f00:1]/"),
    *("http://[2002:7f00:1::]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/"),
    *("http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/"),
    *("http://[::ffff:0:169.254.169.254]/", "http://100.100.100.200/", "http://168.63.129.16/"),
    *("http://192.0.0.192/", "http://10.0.0.1/", "http://192.168.1.1/", "http://172.16.0.1/"),
    *("http://100.64.0.1/", "http://198.18.0.1/", "http://224.0.0.1/", "http://255.255.255.255/"),
    *("http://[ff02::1]/", "http://\uff11\uff12\uff17.0.0.1/", "http://127\u30020\u30020\u30021/"),
    *("http://user@127.0.0.1/", "http://127.0.0.1:6379/", "http://[fec0::1]/"),
    *("http://[2001:0:7f00:1::]/", "file:///etc/passwd", "gopher://127.0.0.1/"),
    *("http://\t127.0.0.1/", "http://LOCALHOST./", "http://127.0.0.1./", "http://0x7f.1/"),
    *("http://[fe80::1%25lo]/", "http://[::1%25lo]/", "http://[2a00::5efe:7f00:1]/"),
    *("http://%31%32%37.0.0.1/", "http://127.0.0.1%2f@example.org/", "http:127.0.0.1/"),
    *("http:///127.0.0.1/", "http://example.org@127.0.0.1/", "http://127.0.0.1\\@example.org/"),
    *("http://example.org\\@127.0.0.1/", "https://127.0.0.1/", "ftp://127.0.0.1/", "//127.0.0.1/"),
    *("ws://127.0.0.1/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://127.255.255.254/"),
    *("http://017700000001/", "http://0x7F.0x0.0x0.0x1/", "http://127.0x1/", "http://00/"),
]
"""Those that are tried by hand, without a port of their own unless it is the point."""

_DIGITS: Final = ["０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "⓪①②③④⑤⑥⑦⑧⑨", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"]  # noqa: RUF001 # that is the point
_DOTS: Final = ["\u3002", "\uff0e", "\uff61", "%2e", "%2E"]
_NEAR: Final = [
    *("127.0.0.1", "127.0.0.1", "127.0.0.1", "127.255.255.254", "127.9.8.7", "0.0.0.0"),
    *("169.254.169.254", "10.0.0.1", "192.168.0.1", "172.16.5.4", "100.100.100.200"),
]


def hosts(random: Random, more: Sequence[str] = ()) -> Iterator[str]:
    """For ever; `more` are addresses of this machine."""
    near = [IPv4Address(each) for each in (*_NEAR, *more) if ":" not in each]
    while True:
        four = random.choice(near)
        yield random.choice(_HOSTS)(random, four)


def urls(random: Random, port: int, more: Sequence[str] = ()) -> Iterator[str]:
    for host in hosts(random, more):
        yield random.choice(_URLS)(random, host, port)


def _four(random: Random, four: IPv4Address) -> str:
    """As `inet_aton` reads it: one to four numbers, each to its own base."""
    parts = random.choice([1, 2, 3, 4, 4])
    numbers = [*four.packed[: parts - 1], int.from_bytes(four.packed[parts - 1 :], "big")]
    return ".".join(_number(random, each) for each in numbers)


def _number(random: Random, number: int) -> str:
    zeros = "0" * random.choice([0, 0, 0, 1, 3])
    match random.choice("dddoh"):
        case "o":
            return f"0{zeros}{number:o}"
        case "h":
            return f"{random.choice(['0x', '0X'])}{zeros}{number:x}"
        case _:
            return str(number)


def _overflown(random: Random, four: IPv4Address) -> str:
    return ".".join(str(each + 256 * random.choice([0, 1, 4])) for each in four.packed)


def _dressed(random: Random, four: IPv4Address) -> str:
    """As text of one script or another, or partly encoded."""
    text = random.choice([str(four), _four(random, four)])
    match random.choice("uudp"):
        case "u":
            table = str.maketrans("0123456789", random.choice(_DIGITS))
            at = random.randrange(len(text) + 1)
            return text[:at].translate(table) + text[at:]
        case "d":
            return text.replace(".", random.choice(_DOTS))
        case _:
            at = random.randrange(len(text))
            return f"{text[:at]}%{ord(text[at]):02x}{text[at + 1 :]}"


def _six(random: Random, four: IPv4Address) -> str:
    """One of the forms of IPv6 that hold it, in one of their spellings."""
    value = int(four)
    forms = [
        *(1, 0, 0xFFFF << 32 | value, 0xFFFF << 48 | value, value),
        *(0x64FF9B << 96 | value, 0x64FF9B0001 << 80 | value, 0x2002 << 112 | value << 80 | 1),
        0x20010000 << 96 | random.getrandbits(32) << 64 | (value ^ 0xFFFF_FFFF),
        0x2A00 << 112 | random.choice([0, 0x200]) << 48 | 0x5EFE << 32 | value,
        *(0xFE80 << 112 | 1, 0xFEC0 << 112 | 1, 0xFD00_0EC2 << 96 | 0x254, 0xFF02 << 112 | 1),
    ]
    return f"[{_written(random, IPv6Address(random.choice(forms)))}]"


def _written(random: Random, six: IPv6Address) -> str:
    text = random.choice([str(six), six.exploded, six.exploded.replace(":0", ":"), _shortened(six)])
    if random.random() < 0.3:
        head, _, tail = six.exploded.rpartition(":")
        head, _, before = head.rpartition(":")
        text = f"{head}:{IPv4Address(int(before + tail, 16))}"
    zone = random.choice(["", "", "", "%25lo", "%lo", "%251"])
    return (text.upper() if random.random() < 0.3 else text) + zone


def _shortened(six: IPv6Address) -> str:
    return ":".join(each.lstrip("0") or "0" for each in six.exploded.split(":"))


def _named(random: Random, _: IPv4Address) -> str:
    name = random.choice(["localhost", "ip6-localhost", "inner.test", "mixed.test", "six.test"])
    cased = "".join(random.choice([each, each.upper()]) for each in name)
    return cased + random.choice(["", ".", "", ".."])


def _broken(random: Random, four: IPv4Address) -> str:
    text, bad = (
        str(four),
        random.choice(["\t", "\n", "\r", " ", "\0", "\u200b", "\u00ad", "\\", "^"]),
    )
    at = random.randrange(len(text) + 1)
    return text[:at] + bad + text[at:]


_HOSTS: Final[Sequence[Callable[[Random, IPv4Address], str]]] = [
    *(_four, _four, _four, _six, _six, _dressed, _overflown, _named, _broken)
]


def _plain(random: Random, host: str, port: int) -> str:
    dot = random.choice(["", "", "", "."])
    return f"{random.choice(['http', 'HTTP', 'http', 'https'])}://{host}{dot}:{port}/x"


def _portless(random: Random, host: str, _: int) -> str:
    return f"http://{host}{random.choice(['', ':', ':80', ':0080', ':443'])}/"


def _with_user(random: Random, host: str, port: int) -> str:
    user = random.choice(["user", "example.org", "a:b", "example.org:80", "%00", "", "a@b"])
    return f"http://{user}@{host}:{port}/"


def _slashed(random: Random, host: str, port: int) -> str:
    begin = random.choice(["http:\\\\", "http:/", "http:", "http:///", "http:/\\", "//", "\\\\"])
    return f"{begin}{host}:{port}/"


def _hidden(random: Random, host: str, port: int) -> str:
    """Behind something that one reader takes for the host, and another does not."""
    way = random.choice(
        ["{0}:{1}#@example.org/", "{0}:{1}\\@example.org/", "example.org\\@{0}:{1}/"]
    )
    other = random.choice([way, "{0}:{1}?@example.org/", "example.org#@{0}:{1}/", "{0}:{1};x/"])
    return "http://" + other.format(host, port)


_URLS: Final[Sequence[Callable[[Random, str, int], str]]] = [
    *(_plain, _plain, _plain, _plain, _portless, _with_user, _slashed, _hidden)
]
