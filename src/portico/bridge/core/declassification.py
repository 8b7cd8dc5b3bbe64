"""Declassification: scan, redact, sign."""

import hashlib
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import accumulate, islice
from typing import Final

from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import BelowContainer, NotLower
from portico.bridge.core.messages import MessageId
from portico.kernel.ids import ApprovalId, Id, PrincipalId, SpaceId
from portico.kernel.json import canonical
from portico.kernel.label import Label
from portico.kernel.redaction import BLACK, forms_in

DECLASSIFY: Final = "bridge.declassify"
"""What it is called among requests, where most are for tools."""


class DeclassificationId(Id):
    __slots__ = ()
    prefix = "dcl"


class FindingKind(StrEnum):
    SECRET = "secret"  # noqa: S105 # a kind of finding
    PERSONAL = "personal"


@dataclass(frozen=True, slots=True)
class ScanMatch:
    """A stretch of a text that should not be there for more people."""

    rule: str
    kind: FindingKind
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    text: str
    findings: tuple[ScanMatch, ...]
    """In the text as it was."""
    diff: tuple[str, ...]
    """Line by line, what changes, for whoever has to say yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody wants to be less secret, as it would be read then. It waits for a person."""

    message: MessageId
    before: Label
    after: Label
    redacted: Redacted
    approval: ApprovalId


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """What is said again at the end of its conversation: these words and nothing besides. Who wrote
    them, whom they name and what was attached stays as secret as it was."""

    conversation: ConversationId
    text: str
    untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declassification:
    """Kept for ever, and signed: what was lowered, from where to where, and on whose word. So far
    that is always a message."""

    id: DeclassificationId
    source: MessageId
    copy: MessageId
    before: Label
    after: Label
    rules: tuple[str, ...]
    """That something was found by."""
    asked_by: PrincipalId
    approved_by: PrincipalId
    approval: ApprovalId
    at: datetime
    digest: str
    """SHA-256 of the text that was let out."""
    signature: str = ""
    sound: bool = True
    """The signature is of this very record, and ours."""


def check_lower(before: Label, after: Label, inside: Label) -> None:
    """Raises `NotLower`, `BelowContainer`."""
    if after == before or not before.covers(after):
        raise NotLower(after, before)
    if not after.covers(inside):
        raise BelowContainer(after, inside)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def pin_of(source: Id, before: Label, after: Label, text: str) -> str:
    """What a yes is bound to: this message or debate, as secret as it is, these words, and for
    whom. The database puts the same together by itself."""
    return f"{source.value} {_spelt(before)} {_spelt(after)} {digest_of(text)}"


def signed_content(space: SpaceId, record: Declassification) -> bytes:
    """All of a record but its signature, in the one text that it has."""
    return canonical(
        {
            "space": str(space),
            "id": str(record.id),
            "source": str(record.source),
            "copy": str(record.copy),
            "before": str(record.before),
            "after": str(record.after),
            "rules": [*record.rules],
            "asked_by": str(record.asked_by),
            "approved_by": str(record.approved_by),
            "approval": str(record.approval),
            "at": record.at.astimezone(UTC).isoformat(),
            "digest": record.digest,
        }
    )


def _spelt(label: Label) -> str:
    return f"{int(label.level)}:{','.join(sorted(label.compartments))}"


# Numbers of cards and bank accounts: those that could be real, by the sums in them.

_CARDS: Final = re.compile(
    r"""
      4(?:\d{12}|\d{15}|\d{18})
    | (?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}
    | 3[47]\d{13}
    | (?:30[0-5]|36\d|38\d|39\d)\d{11}
    | (?:6011|64[4-9]\d|65\d{2}|62\d{2}|35\d{2}|50\d{2}|5[6-9]\d{2}|6[37]\d{2})\d{12,15}
    """,
    re.VERBOSE,
)
"""How the numbers of issuers begin, and how long they are."""

_LENGTHS: Final = {
    country: int(length)
    for country, length in re.findall(
        r"([A-Z]{2})(\d{2})",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
        "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 "
        "IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 "
        "MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 "
        "SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30",
    )
}
"""Letters and digits of an account number, by its country."""


def card_fits(found: str) -> bool:
    digits = re.sub(r"\D", "", found)
    return digits.isascii() and _CARDS.fullmatch(digits) is not None and _luhn(digits)


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def iban_end(text: str, start: int) -> int | None:
    """Where the one ends that begins there; None if there is none."""
    wanted = _LENGTHS.get(text[start : start + 2].upper())
    if wanted is None:
        return None
    letters = re.finditer(r" ?([0-9A-Za-z])", text[start : start + 2 * wanted])
    account, end = "", start
    for letter in islice(letters, wanted):
        if start + letter.start() != end:
            return None
        account += letter[1]
        end = start + letter.end()
    goes_on = text[end : end + 1]
    if len(account) < wanted or (goes_on.isascii() and goes_on.isalnum()):
        return None
    return end if _mod_97(account.upper()) else None


def _mod_97(account: str) -> bool:
    moved = account[4:] + account[:4]
    return int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


# What a text is looked through for before more people may read it, rule by rule.
#
# Secrets are told by how vendors write their keys, and by names before them; what is kept out of
# logs (`kernel.redaction`) is found too, and is not said here again. Personal data are e-mail and
# network addresses, cards, accounts, telephone and social security numbers. Names of people and
# postal addresses are not among them: no rule tells them from other words, and whoever says yes has
# to look for them.
#
# Each pattern takes time in proportion to the text, whatever it is: its runs are bounded, or cannot
# begin inside one another.

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

    def found(self, text: str) -> Iterator[ScanMatch]:
        for match in self.pattern.finditer(text):
            if self.check(match[self.group]):
                yield ScanMatch(
                    self.name, self.kind, match.start(self.group), match.end(self.group)
                )


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


def ibans(text: str) -> Iterator[ScanMatch]:
    """How long one is depends on its country, so that no pattern tells where it ends."""
    for match in _IBAN.finditer(text):
        end = iban_end(text, match.start())
        if end is not None:
            yield ScanMatch("bank-account", _PERSONAL, match.start(), end)


# Look through a text for what should not be in it when more people read it.

SecretLocator = Callable[[str], Iterable[tuple[int, int]]]
"""Where very secrets stand that the house knows of, whatever their form."""

UNCLEAR: Final = "unclear"
_ROUNDS: Final = 8
_SHOWN: Final = re.compile(r"(?:\[[a-z][a-z0-9-]{0,40}\])+")


def nothing_known(_text: str) -> Iterable[tuple[int, int]]:
    return ()


def found(text: str, known: SecretLocator = nothing_known) -> Sequence[ScanMatch]:
    """In order, none upon another; what is left without them has nothing more to be found.

    What is beside something that goes may look otherwise once that is gone, so that it is looked
    again until nothing new is found. A text that is made so that this does not end goes whole.
    """
    stretches: Sequence[ScanMatch] = ()
    for _ in range(_ROUNDS):
        left = RedactedText(text, stretches)
        new = [left.before(each) for each in _in(left.text, known)]
        if not new:
            return stretches
        stretches = _parted([*stretches, *new])
    return (ScanMatch(UNCLEAR, FindingKind.SECRET, 0, len(text)),)


def shown(finding: ScanMatch) -> str:
    """What stands in its place. No blanks are in it, so that it ends where what it stands for
    would."""
    return f"[{finding.rule}]"


class RedactedText:
    """What is left of a text, and where that was before."""

    def __init__(self, text: str, gone: Sequence[ScanMatch]) -> None:
        self._parts: list[tuple[int, int, int]] = []
        pieces: list[str] = []
        place = length = 0
        for each in gone:
            kept = text[place : each.start]
            self._parts.append((length, place, each.start))
            self._parts.append((length + len(kept), each.start, each.end))
            pieces += [kept, shown(each)]
            length += len(kept) + len(shown(each))
            place = each.end
        self._parts.append((length, place, len(text)))
        self._starts = [part[0] for part in self._parts]
        self.text = "".join([*pieces, text[place:]])

    def before(self, finding: ScanMatch) -> ScanMatch:
        """The same in the text as it was; what begins or ends inside something that is gone takes
        that along."""
        return replace(
            finding,
            start=self._place(finding.start, last=False),
            end=self._place(finding.end - 1, last=True),
        )

    def _place(self, place: int, *, last: bool) -> int:
        """Of a letter: where it began, or with `last`, where it ended."""
        part = bisect_right(self._starts, place) - 1
        begins, start, end = self._parts[part]
        if part % 2:
            return end if last else start
        return start + place - begins + last


def _in(text: str, known: SecretLocator) -> Iterator[ScanMatch]:
    """In this very text, as it stands; without what stands for something that is gone."""
    for each in _all(text, known):
        if not _SHOWN.fullmatch(text, each.start, each.end):
            yield each


def _all(text: str, known: SecretLocator) -> Iterator[ScanMatch]:
    for start, end in known(text):
        yield ScanMatch("known-secret", FindingKind.SECRET, start, end)
    for name, start, end in forms_in(text):
        yield ScanMatch(name, FindingKind.SECRET, start, end)
    for rule in RULES:
        yield from rule.found(text)
    yield from ibans(text)


def _parted(findings: Iterable[ScanMatch]) -> Sequence[ScanMatch]:
    """Those that lie upon one another as one: named after a secret if one of them is, and else
    after the longest."""
    parted: list[ScanMatch] = []
    for each in sorted(findings, key=lambda it: (it.start, it.end)):
        if parted and each.start < parted[-1].end:
            parted[-1] = _both(parted[-1], each)
        else:
            parted.append(each)
    return parted


def _both(one: ScanMatch, other: ScanMatch) -> ScanMatch:
    first = max(one, other, key=_weight)
    return replace(first, start=min(one.start, other.start), end=max(one.end, other.end))


def _weight(finding: ScanMatch) -> tuple[bool, int]:
    return finding.kind is FindingKind.SECRET, finding.end - finding.start


def redacted(text: str, findings: Sequence[ScanMatch] | None = None) -> Redacted:
    """With what stands for each of its findings; those of `found`, unless others are given."""
    gone = found(text) if findings is None else findings
    return Redacted(
        text=_told(text, gone, shown), findings=tuple(gone), diff=tuple(_changes(text, gone))
    )


@dataclass(slots=True)
class _Change:
    """Neighbouring lines of which something goes."""

    first: int
    last: int
    gone: list[ScanMatch] = field(default_factory=list)


def _changes(text: str, gone: Sequence[ScanMatch]) -> Iterator[str]:
    """In one pass, since it is known where the changes are: `line 7:` says where, `-` was there,
    `+` is there instead, and a blank stands before what stays, a line on each side."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    changes = _by_lines(starts, gone)
    passed = 0
    for number, change in enumerate(changes, 1):
        begin, end = starts[change.first], starts[change.last + 1] - 1
        was, inside = text[begin:end], [_moved(each, begin) for each in change.gone]
        yield f"line {change.first + 1}:"
        yield from _each(" ", lines[max(change.first - 1, passed) : change.first])
        yield from _each("-", _told(was, inside, _as_it_was(was)).split("\n"))
        yield from _each("+", _told(was, inside, shown).split("\n"))
        upto = changes[number].first if number < len(changes) else len(lines)
        passed = min(change.last + 2, upto)
        yield from _each(" ", lines[change.last + 1 : passed])


def _each(sign: str, lines: Sequence[str]) -> Iterator[str]:
    return (f"{sign}{line}" for line in lines)


def _by_lines(starts: Sequence[int], gone: Sequence[ScanMatch]) -> Sequence[_Change]:
    changes: list[_Change] = []
    for each in gone:
        first = bisect_right(starts, each.start) - 1
        last = bisect_right(starts, each.end - 1) - 1
        if not changes or first > changes[-1].last:
            changes.append(_Change(first, last))
        changes[-1].last = last
        changes[-1].gone.append(each)
    return changes


def _as_it_was(text: str) -> Callable[[ScanMatch], str]:
    """A secret is black here, too: what it was is nothing to decide upon."""
    return lambda it: BLACK if it.kind is FindingKind.SECRET else text[it.start : it.end]


def _moved(finding: ScanMatch, begin: int) -> ScanMatch:
    return ScanMatch(finding.rule, finding.kind, finding.start - begin, finding.end - begin)


def _told(text: str, gone: Sequence[ScanMatch], word: Callable[[ScanMatch], str]) -> str:
    pieces: list[str] = []
    place = 0
    for each in gone:
        pieces += [text[place : each.start], word(each)]
        place = each.end
    return "".join([*pieces, text[place:]])
