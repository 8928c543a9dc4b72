"""Limits and headers, in front of everything else.

No address is kept: a bucket is found by a fingerprint under a salt that is drawn when the server starts and never written down.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
import threading
import time
from typing import Any, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .settings import Limits

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",  # the platform's numbers are in the address
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


COUNTED = ("/api/start", "/api/decline")
"""What everybody can do without a key, and what leaves a trace in the database."""


class Buckets:
    """How often each of many may ask: `rate` times each second, `size` times at once.

    Arguments:
        limit: (rate, size).
        clock: Seconds.
    """

    MOST = 20_000

    def __init__(self, limit: tuple[float, int], clock: Callable[[], float] = time.monotonic) -> None:
        (self._rate, self._size), self._clock = limit, clock
        self._buckets: dict[bytes, tuple[float, float]] = {}  # how much was left, and when
        self._salt, self._lock = secrets.token_bytes(16), threading.Lock()

    def allows(self, who: str) -> bool:
        """May `who` ask once more? It is then counted."""
        now, name = self._clock(), hashlib.blake2b(who.encode("utf-8", "replace"), digest_size=16, key=self._salt).digest()
        with self._lock:
            if len(self._buckets) > self.MOST:
                self._buckets = {key: bucket for key, bucket in self._buckets.items() if self._filled(*bucket, now) < self._size}
            left = self._filled(*self._buckets.get(name, (self._size, now)), now)
            allowed = left >= 1
            self._buckets[name] = left - allowed, now
            return allowed

    def _filled(self, left: float, at: float, now: float) -> float:
        return min(self._size, left + self._rate * (now - at))


def network_of(client: Any) -> str:
    """Where a request comes from, as limits count it: an address, or of the new kind (IPv6) the network, which holds 2^64 of them."""
    host = str((client or ("",))[0])
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))


class Guard:
    """Refuses what is too much or too often, and puts the headers on every response."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._body = app, limits.body
        self._addresses, self._starts, self._sessions = Buckets(limits.address), Buckets(limits.start), Buckets(limits.session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given[name] = value
                given.setdefault("cache-control", "no-store" if not scope["path"].startswith("/static/") else "no-cache")
            await send(message)

        if not self._allows(scope["path"], network_of(scope.get("client")), headers.get("authorization", "")):
            await _refuse(send_with_headers, 429, "too_often", {"retry-after": "1"})
            return
        body = await self._read(headers, receive)
        if body is None:
            await _refuse(send_with_headers, 413, "too_large", {"connection": "close"})
            return
        await self._app(scope, _replay(body, receive), send_with_headers)

    def _allows(self, path: str, address: str, key: str) -> bool:
        if not self._addresses.allows(address) or (path in COUNTED and not self._starts.allows(address)):
            return False
        return not key or not path.startswith("/api/") or self._sessions.allows(key)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body, or None if it is too large; no more than the limit is ever held."""
        stated = headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated) > self._body:
            return None
        if stated == "0" and "transfer-encoding" not in headers:
            return b""
        body: bytes = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._body:
                return None
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already, then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


async def _refuse(send: Send, status: int, reason: str, more: dict[str, str]) -> None:
    body = json.dumps({"reason": reason, "link": None, "place": None, "fields": []}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **more}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


class Token:
    """The researcher's token, compared in constant time. The cookie holds a fingerprint of it.

    Arguments:
        token: The secret.
        limit: How often a wrong one may be tried from one address.
    """

    COOKIE = "tellapart"

    def __init__(self, token: str, limit: tuple[float, int]) -> None:
        self._token, self._wrong = token, Buckets(limit)
        self.cookie = hmac.new(token.encode(), b"cookie", "sha256").hexdigest()

    def right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())

    def admits(self, cookie: str | None, authorization: str | None) -> bool:
        """Is this the researcher, by a cookie or by "Bearer TOKEN"?"""
        by_cookie = cookie is not None and hmac.compare_digest(cookie.encode("utf-8", "replace"), self.cookie.encode())
        return by_cookie or (authorization is not None and self.right(authorization.removeprefix("Bearer ")))

    def may_try(self, address: str) -> bool:
        """May a wrong token be tried from this address?"""
        return self._wrong.allows(address)
