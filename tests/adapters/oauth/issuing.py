"""An issuer of tokens, served by the test itself: what it publishes, and tokens of any form."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.adapters.mcp.serving import served

RSA = rsa.generate_private_key(65537, 2048)
OTHER_RSA = rsa.generate_private_key(65537, 2048)
SHORT_RSA = rsa.generate_private_key(65537, 1024)  # that it is weak is the point
EC = ec.generate_private_key(ec.SECP256R1())

Json = Mapping[str, Any]


def packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def rs256(text: bytes, key: rsa.RSAPrivateKey = RSA) -> bytes:
    return key.sign(text, padding.PKCS1v15(), hashes.SHA256())


def written(header: Json | bytes, claims: Json | bytes) -> bytes:
    parts = (
        each if isinstance(each, bytes) else json.dumps(each).encode() for each in (header, claims)
    )
    return ".".join(map(packed, parts)).encode()


def token(header: Json | bytes, claims: Json | bytes, key: rsa.RSAPrivateKey = RSA) -> str:
    """Signed by RS256, whatever it says."""
    text = written(header, claims)
    return f"{text.decode()}.{packed(rs256(text, key))}"


def public(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, name: str, **more: object) -> Json:
    if isinstance(key, rsa.RSAPrivateKey):
        made = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        made = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**made, "kid": name, **more}


@dataclass
class Issuing:
    url: str = ""
    keys: list[Json] = field(default_factory=list)
    fetched: int = 0
    broken: bool = False
    more: Json = field(default_factory=dict)
    """What it says of itself beside, or instead."""

    def begin_anew(self) -> "Issuing":
        self.keys = [public(RSA, "first", use="sig", alg="RS256")]
        self.fetched, self.broken, self.more = 0, False, {}
        return self

    async def describe(self, _request: Request) -> Response:
        document = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.more}
        return JSONResponse(document)

    async def publish(self, _request: Request) -> Response:
        self.fetched += 1
        return JSONResponse({"keys": self.keys}, 500 if self.broken else 200)


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuing]:
    made = Issuing()
    routes = [
        Route("/.well-known/openid-configuration", made.describe),
        Route("/keys", made.publish),
    ]
    async with served(Starlette(routes=routes)) as url:
        made.url = url
        yield made.begin_anew()
