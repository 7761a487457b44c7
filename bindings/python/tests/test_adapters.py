"""The adapters for frameworks, on stand-ins with the few names that they use: no package index is reached
from here, so they have not met the frameworks themselves."""

import asyncio
import copy
import sys
import types
import unittest

from pare_llm import fix
from pare_llm.anthropic import PareMiddleware
from pare_llm.litellm import PareHook

from test_pare import BROKEN, CLEAN


class Message:
    def __init__(self, kind, data):
        self.type, self.data = kind, data

    def model_dump(self, mode):
        assert mode == "json"
        return {**self.data, "type": self.type}


core = types.ModuleType("langchain_core.messages")
core.messages_from_dict = lambda all: [Message(m["type"], {k: v for k, v in m["data"].items() if k != "type"}) for m in all]
sys.modules.setdefault("langchain_core", types.ModuleType("langchain_core"))
sys.modules["langchain_core.messages"] = core


class Request:
    def __init__(self, messages):
        self.messages = messages

    def override(self, messages):
        return Request(messages)


def decoded(body):
    import json

    return copy.deepcopy(body) if isinstance(body, dict) else json.loads(body)


class Adapters(unittest.TestCase):
    def test_anthropic(self):
        request = types.SimpleNamespace(json=decoded(BROKEN))
        self.assertEqual(PareMiddleware().handle(request, lambda r: r).json, fix(decoded(BROKEN)))
        clean = decoded(CLEAN)
        request = types.SimpleNamespace(json=clean)
        PareMiddleware().handle(request, lambda r: r)
        self.assertIs(request.json, clean)
        self.assertEqual(clean, decoded(CLEAN))
        self.assertEqual(PareMiddleware().handle(types.SimpleNamespace(), lambda r: "sent"), "sent")

    def test_langchain(self):
        from pare_llm.langchain import PareMiddleware, mend_messages

        said = Message("human", {"content": "go", "id": "1"})
        asked = Message("ai", {"content": "", "tool_calls": [{"name": "bash", "args": {}, "id": "a", "type": "tool_call"}]})
        after = Message("human", {"content": "and?"})
        out = mend_messages([said, asked, after])
        self.assertIs(out[0], said)
        self.assertIs(out[1], asked)
        self.assertEqual((out[2].type, out[2].data["tool_call_id"]), ("tool", "a"))
        self.assertIs(out[3], after)
        sent = PareMiddleware().wrap_model_call(Request([said, asked, after]), lambda r: r)
        self.assertEqual(len(sent.messages), 4)
        whole = Request([said])
        self.assertIs(PareMiddleware().wrap_model_call(whole, lambda r: r), whole)

        async def answer(request):
            return request

        self.assertEqual(len(asyncio.run(PareMiddleware().awrap_model_call(Request([said, asked, after]), answer)).messages), 4)

    def test_litellm(self):
        data = {"model": "gpt-5", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}]}], "metadata": {"mine": 1}}
        out = asyncio.run(PareHook().async_pre_call_hook(None, None, data, "completion"))
        self.assertEqual([len(out["messages"]), out["messages"][2]["role"], out["metadata"]], [3, "tool", {"mine": 1}])


if __name__ == "__main__":
    unittest.main()
