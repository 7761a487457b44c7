"""The transport for httpx; without httpx, on a stand-in with the few names that it uses."""

import json
import sys
import types
import unittest

try:
    import httpx
except ImportError:  # no package index is reached from here
    httpx = types.ModuleType("httpx")

    class Headers(dict):
        @property
        def raw(self):
            return [(name.encode(), value.encode()) for name, value in self.items()]

    class Request:
        def __init__(self, method, url, headers=(), content=b"", extensions=None):
            pairs = headers.items() if isinstance(headers, dict) else [(name.decode(), value.decode()) for name, value in headers]
            self.method, self.headers, self.content, self.extensions = method, Headers(pairs), content, extensions or {}
            self.url = url if not isinstance(url, str) else types.SimpleNamespace(path="/" + url.split("/", 3)[3])

        def read(self):
            return self.content

        async def aread(self):
            return self.content

    httpx.Request = Request
    httpx.BaseTransport = httpx.AsyncBaseTransport = object
    sys.modules["httpx"] = httpx

import pare_llm
from pare_llm.httpx import AsyncPareTransport, PareTransport

from test_pare import BROKEN, CLEAN


class Sent:
    def __init__(self):
        self.requests = []

    def handle_request(self, request):
        self.requests.append(request)
        return "answered"

    async def handle_async_request(self, request):
        return self.handle_request(request)


def request(path, body):
    raw = json.dumps(body).encode()
    return httpx.Request("POST", "https://api.example" + path, headers={"content-length": str(len(raw)), "x-api-key": "k"}, content=raw)


class Transport(unittest.TestCase):
    def check(self, sent, given):
        self.assertEqual(pare_llm.check(sent.requests[0].read())["findings"], [])
        self.assertEqual(sent.requests[0].headers["x-api-key"], "k")
        self.assertNotEqual(sent.requests[0].headers.get("content-length"), given[0].headers["content-length"])
        self.assertIs(sent.requests[1], given[1])
        self.assertIs(sent.requests[2], given[2])
        self.assertIs(sent.requests[3], given[3])

    def given(self):
        return [request("/v1/messages", BROKEN), request("/v1/messages", CLEAN), request("/v1/files", BROKEN), request("/v1/chat/completions", {"no": 1})]

    def test_transport(self):
        sent, given = Sent(), self.given()
        transport = PareTransport(sent)
        for r in given:
            self.assertEqual(transport.handle_request(r), "answered")
        self.check(sent, given)

    def test_async(self):
        import asyncio

        sent, given = Sent(), self.given()

        async def send():
            for r in given:
                await AsyncPareTransport(sent).handle_async_request(r)

        asyncio.run(send())
        self.check(sent, given)
