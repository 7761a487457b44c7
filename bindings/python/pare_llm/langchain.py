"""Middleware for agents of LangChain.

    agent = create_agent(model, tools, middleware=[PareMiddleware(max_tokens=100_000)])
"""

from . import _mend

try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError:  # its class is needed by create_agent alone
    AgentMiddleware = object


def mend_messages(messages, **options):
    """Messages as they should be sent; those that were not touched are the same objects."""
    from langchain_core.messages import messages_from_dict

    dumped = [{"type": m.type, "data": m.model_dump(mode="json")} for m in messages]
    now = _mend.messages(dumped, "langchain", options)
    if now is dumped:
        return messages
    left = list(zip(dumped, messages))
    out = []
    for element in now:
        at = next((i for i, (was, _) in enumerate(left) if was == element), None)
        out.append(messages_from_dict([element])[0] if at is None else left.pop(at)[1])
    return out


class PareMiddleware(AgentMiddleware):
    """Repairs what the model is asked with, and makes it fit; options are those of fit."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def _request(self, request):
        now = mend_messages(request.messages, **self.options)
        return request if now is request.messages else request.override(messages=now)

    def wrap_model_call(self, request, handler):
        return handler(self._request(request))

    async def awrap_model_call(self, request, handler):
        return await handler(self._request(request))
