"""What a text is looked through for before more people may read it, rule by rule.

Secrets are told by how vendors write their keys, and by names before them; what is kept out of
logs (`kernel.redaction`) is found too, and is not said here again. Personal data are e-mail and
network addresses, cards, accounts, telephone and social security numbers. Names of people and
postal addresses are not among them: no rule tells them from other words, and whoever says yes has
to look for them.

Each pattern takes time in proportion to the text, whatever it is: its runs are bounded, or cannot
begin inside one another.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from portico.bridge.core.account_numbers import card_fits, iban_end
from portico.bridge.core.declassification import Finding, FindingKind

Check = Callable[[str], bool]


def _anything(_found: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    kind: FindingKind
    pattern: re.Pattern[str]
    check: Check = _anything
    group: int = 0
    """The part that has to go."""

    def found(self, text: str) -> Iterator[Finding]:
        for match in self.pattern.finditer(text):
            if self.check(match[self.group]):
                yield Finding(self.name, self.kind, match.start(self.group), match.end(self.group))


_TOKENS: Final[Sequence[tuple[str, str, str]]] = [
    ("stripe-key", "(?:sk|rk)_test_", r"\w{10,}+"),
    ("stripe-webhook-secret", "whsec_", r"[\w+/=-]{16,}+"),
    ("gitlab-token", "gl(?:dt|rt|cbt|ptt|ft|imt|agent|oas)-", r"[\w-]{16,}+"),
    ("grafana-token", "gl(?:sa|c)_", r"[\w+/=-]{20,}+"),
    ("google-client-secret", "GOCSPX-", r"[\w-]{20,}+"),
    ("sendgrid-key", r"SG\.", r"[\w-]{16,40}\.[\w-]{30,}+"),
    ("twilio-key", "SK", r"[0-9a-f]{32}"),
    ("mailgun-key", "key-", r"[0-9a-f]{32}"),
    ("databricks-token", "dapi", r"[0-9a-f]{32}"),
    ("digitalocean-token", "do[opr]_v1_", r"[0-9a-f]{64}"),
    ("docker-token", "dckr_[op]at_", r"[\w-]{20,}+"),
    ("shopify-token", "shp(?:at|ca|pa|ss)_", r"[0-9a-fA-F]{32}"),
    ("square-token", "sq0(?:atp|csp)-", r"[\w-]{22,}+"),
    ("vault-token", r"hv[sbr]\.", r"[\w-]{24,}+"),
    ("atlassian-token", "ATATT3", r"[\w=-]{40,}+"),
    ("linear-key", "lin_api_", r"\w{30,}+"),
    ("notion-token", "ntn_", r"\w{30,}+"),
    ("new-relic-key", "NRAK-", r"[0-9A-Z]{20,}+"),
    ("doppler-token", r"dp\.(?:pt|st|ct|sa)\.", r"[\w.-]{30,}+"),
    ("age-key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{40,}+"),
    ("telegram-token", r"\d{8,10}:", r"AA[\w-]{33}"),
]
"""How the keys of a vendor begin, and how they go on."""

_ASSIGNED: Final = (
    r"(?i)(?:secret|token|passw|pwd|pass|credential|api[_-]?key|_key|apikey|accountkey"
    r"|sharedaccesskey)[\w.-]{0,30}[\"'`]?\s{0,3}(?::=|=>|[:=])\s{0,3}[\"'`]?"
    r"([\w+/=.~!#$%^*@?-]{12,}+)"
)
_LEAST_BITS: Final = 3.0
"""Of a letter: words and paths have less, or no digits, or nothing but digits."""


def _random(value: str) -> bool:
    """Whether it looks as if nobody had thought of it."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return mixed and _bits(value) >= _LEAST_BITS


def _bits(value: str) -> float:
    """Shannon's, of one letter."""
    return -sum(
        (many / len(value)) * math.log2(many / len(value)) for many in Counter(value).values()
    )


def _network_address(found: str) -> bool:
    """Of some machine, and not of whichever it is read on; a version has four numbers, too, and
    goes with them."""
    try:
        address = ip_address(found.partition("%")[0])
    except ValueError:
        return False
    return not _of_any_machine(address)


def _of_any_machine(address: IPv4Address | IPv6Address) -> bool:
    return address.is_loopback or address.is_unspecified


def _version_6(found: str) -> bool:
    """Two names of a program may be parted by `::` as well."""
    digits = any(map(str.isdigit, found))
    return digits and found.count(":") >= 2 and _network_address(found)


def _social_security(found: str) -> bool:
    area, group, serial = found.split("-")
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


_SECRET: Final = FindingKind.SECRET
_PERSONAL: Final = FindingKind.PERSONAL
_ONE_OF_FOUR: Final = r"\d{1,3}"

RULES: Final[Sequence[Rule]] = [
    *(
        Rule(name, _SECRET, re.compile(rf"(?<![\w-]){begins}{goes_on}(?!\w)"))
        for name, begins, goes_on in _TOKENS
    ),
    Rule(
        "slack-webhook",
        _SECRET,
        re.compile(r"(?<=hooks\.slack\.com/)(?:services|workflows)/[\w/-]{20,200}"),
    ),
    Rule("assigned-secret", _SECRET, re.compile(_ASSIGNED), _random, group=1),
    Rule(
        "e-mail",
        _PERSONAL,
        re.compile(
            r"(?<![\w.%+'-])[\w.%+'-]{1,64}+@(?:[\w-]{1,63}\.){1,8}(?:xn--[\w-]{2,59}|[^\W\d_]{2,24})"
        ),
    ),
    Rule(
        "network-address",
        _PERSONAL,
        re.compile(rf"(?<![\w.])(?:{_ONE_OF_FOUR}\.){{3}}{_ONE_OF_FOUR}(?!\w|\.\d)"),
        _network_address,
    ),
    Rule(
        "network-address",
        _PERSONAL,
        re.compile(
            r"(?<![\w:.])[0-9A-Fa-f:]{3,39}(?:(?:\d{1,3}\.){3}\d{1,3})?(?:%\w{1,16})?(?![\w:])"
        ),
        _version_6,
    ),
    Rule(
        "hardware-address",
        _PERSONAL,
        re.compile(
            r"(?<![\w:-])[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})(?![\w:-])"
        ),
    ),
    Rule(
        "payment-card",
        _PERSONAL,
        re.compile(
            r"(?<!\d)(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5})(?!\d)"
        ),
        card_fits,
    ),
    Rule(
        "social-security-number",
        _PERSONAL,
        re.compile(r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])"),
        _social_security,
    ),
    Rule(
        "telephone-number",
        _PERSONAL,
        re.compile(
            r"(?<![\w.+])(?:\+|(?<!\d )00(?=[1-9]\d{0,2}[ ./(-]))"
            r"[1-9](?:[ ./()-]{0,2}\d){6,14}(?!\d)"
        ),
    ),
    Rule(
        "telephone-number",
        _PERSONAL,
        re.compile(r"(?<![\w.-])(?:\(\d{3}\) ?|\d{3}([-.]))\d{3}(?(1)\1|-)\d{4}(?![\w-]|\.\d)"),
    ),
    Rule(
        "telephone-number",
        _PERSONAL,
        re.compile(
            r"(?i)(?<!\w)(?:tel|phone|telephone|mobile|cell|fax|telefon|handy)"
            r"[.:]{0,2} {0,3}(?:no\.?|number|is)?[: ]{0,3}(\(?\d(?:[ ./()-]{0,2}\d){6,14})(?!\d)"
        ),
        group=1,
    ),
]

_IBAN: Final = re.compile(r"(?i)(?<![0-9a-z])[a-z]{2}\d{2}(?= ?[0-9a-z])")


def ibans(text: str) -> Iterator[Finding]:
    """How long one is depends on its country, so that no pattern tells where it ends."""
    for match in _IBAN.finditer(text):
        end = iban_end(text, match.start())
        if end is not None:
            yield Finding("bank-account", _PERSONAL, match.start(), end)
