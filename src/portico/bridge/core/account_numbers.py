"""Numbers of cards and bank accounts: those that could be real, by the sums in them."""

import re
from itertools import islice
from typing import Final

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
