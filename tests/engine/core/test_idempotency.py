"""What identifies an asking, and what is kept of its answer."""

from hypothesis import given
from hypothesis import strategies as st

from portico.engine.core.errors import AlreadyProvisioned, KeyReused, SchemaBehind, StoreBusy
from portico.engine.core.idempotency import Claim, StoredResponse
from portico.engine.core.store import Source, StoreInfo, StoreStatus


def test_the_same_request_has_the_same_fingerprint_in_whatever_order_it_is_written() -> None:
    one = Claim.of("keys.issue", "k1", {"name": "laptop", "days": 7})
    other = Claim.of("keys.issue", "k1", {"days": 7, "name": "laptop"})

    assert one == other


requests = st.dictionaries(st.text("abc", max_size=3), st.integers() | st.text("12"), max_size=3)


@given(requests, requests)
def test_different_requests_have_different_fingerprints(
    one: dict[str, int | str], other: dict[str, int | str]
) -> None:
    same = Claim.of("op", "k", one).fingerprint == Claim.of("op", "k", other).fingerprint

    assert same == (one == other)


def test_what_is_kept_of_an_asking_holds_no_secret_and_no_long_key() -> None:
    claim = Claim.of("join", "k1", {"secret": "hunter2"})

    assert "hunter2" not in repr(claim)

    answer = StoredResponse({"id": "1", "key": None}, shown_once={"key": "ptc_…"})

    assert answer.first() == {"id": "1", "key": "ptc_…"}
    assert answer.stored == {"id": "1", "key": None}
    assert StoredResponse({"id": "1"}).first() == {"id": "1"}

    error = KeyReused("k" * 5000)

    assert len(str(error)) < 150
    assert error.key == "k" * 5000


def test_refusals_of_the_store_name_the_mend() -> None:
    behind = SchemaBehind(2)

    assert behind.pending == 2
    assert "portico db migrate" in str(behind.fix)
    assert "--force" in str(StoreBusy("in use").fix)
    assert "--rotate" in str(AlreadyProvisioned("roles").fix)

    status = StoreStatus(source=Source.DSN, address="db.example", running=True)

    info = StoreInfo(status=status, size=1, connections=1)

    assert (info.extensions, info.tables) == ((), ())
