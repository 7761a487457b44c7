"""Middleware for Anthropic's SDK, in front of what Bedrock and Vertex write and sign.

    client = anthropic.Anthropic(middleware=[PareMiddleware()])

Where the body is not needed as a dict, the transport of pare_llm.httpx costs less."""

from . import _mend


class PareMiddleware:
    """Repairs requests, and makes them fit; options are those of fit."""

    def __init__(self, **options):
        self.options = options

    def handle(self, request, call_next):
        """Sync and async: what call_next returns is returned."""
        given = getattr(request, "json", None)
        if isinstance(given, dict) and isinstance(given.get("messages"), list):
            now = _mend.body(given, self.options)
            if now is not given:
                given.clear()
                given.update(now)
        return call_next(request)
