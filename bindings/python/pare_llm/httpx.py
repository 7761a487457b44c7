"""A transport for httpx, which the SDKs of Anthropic, OpenAI and Google send with.

    client = anthropic.Anthropic(http_client=httpx.Client(transport=PareTransport()))

Histories are repaired and made to fit on their way. What cannot be read goes on as it is."""

import httpx

from . import PareError, fit, fix

_HISTORIES = ("/messages", "/chat/completions", "/responses", ":generateContent", ":streamGenerateContent", "/converse", "/converse-stream")


def _repaired(request, content, options):
    if request.method != "POST" or not request.url.path.endswith(_HISTORIES) or "content-encoding" in request.headers:
        return request
    try:
        body = fit(content, **options)
    except PareError as problem:
        if problem.type not in ("unknown_model", "window_too_small"):
            return request
        try:
            body = fix(content)
        except PareError:
            return request
    if body is content:
        return request
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in (b"content-length", b"transfer-encoding")]
    return httpx.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


class PareTransport(httpx.BaseTransport):
    """Repairs requests and sends them with another transport; options are those of fit."""

    def __init__(self, transport=None, **options):
        self.next = transport or httpx.HTTPTransport()
        self.options = options

    def handle_request(self, request):
        return self.next.handle_request(_repaired(request, request.read(), self.options))

    def close(self):
        self.next.close()


class AsyncPareTransport(httpx.AsyncBaseTransport):
    """The same for httpx.AsyncClient."""

    def __init__(self, transport=None, **options):
        self.next = transport or httpx.AsyncHTTPTransport()
        self.options = options

    async def handle_async_request(self, request):
        return await self.next.handle_async_request(_repaired(request, await request.aread(), self.options))

    async def aclose(self):
        await self.next.aclose()
