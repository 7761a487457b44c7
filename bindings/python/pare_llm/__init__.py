"""Pare for Python: repairs and fits the histories that agents send to language models.

    import pare_llm
    body = pare_llm.fix(body)                        # bytes, str, dict or list; the same one if it is clean
    body = pare_llm.fit(body, max_tokens=100_000)
    pare_llm.check(body)["findings"]

What comes back has the type of what went in; objects of an SDK in it come back as dicts. receipts=True adds what was done. Callbacks are functions:
count(text) -> int, rule(blocks) -> votes, summarize(removed) -> text; what they raise, the call raises.
"""

import json

from ._engine import PareError, call

__all__ = ["fix", "fit", "prune", "compact", "check", "count", "split", "pairs", "PareError"]
__version__ = "0.1.0.dev0"


def fix(body, *, receipts=False, count=None, rule=None, **options):
    """Repairs what the provider would refuse. With rules=[…] or rule it also removes what is useless."""
    return _changed("fix", body, receipts, options, count=count, rule=rule)


def fit(body, *, receipts=False, count=None, rule=None, **options):
    """Repairs, and makes it fit max_tokens, max_messages, …; by default the window of its model."""
    return _changed("fit", body, receipts, options, count=count, rule=rule)


def prune(body, *, receipts=False, count=None, rule=None, **options):
    """Repairs, and removes what is useless by the standard rules, or by rules=[…]."""
    return _changed("prune", body, receipts, options, count=count, rule=rule)


def compact(body, *, receipts=False, count=None, summarize=None, **options):
    """Puts a summary in the place of what is old: summary="…", summarize, or lines that are copied out."""
    return _changed("compact", body, receipts, options, count=count, summarize=summarize)


def check(body, **options):
    """Reports what the provider would refuse: {"dialect", "messages", "findings": […], …}."""
    return json.loads(call("check", _bytes(body), options)[1])


def count(body, *, count=None, **options):
    """Counts tokens: {"tokens", "window", "roles", "kinds", …}."""
    return json.loads(call("count", _bytes(body), options, count=count)[1])


def pairs(body, **options):
    """Tells which result answers which call: [{"id", "tool", "state", "call", "results"}, …]."""
    return json.loads(call("pairs", _bytes(body), options)[1])["pairs"]


def split(body, **options):
    """Finds where a history can be divided, and divides it: (head, tail, report). Without a cut the head is None."""
    raw = _bytes(body)
    head, report = call("split", raw, {**options, "part": "head"})
    if head is None:
        return None, body, json.loads(report)
    tail, _ = call("split", raw, {**options, "part": "tail"})
    return _like(body, head), _like(body, tail), json.loads(report)


def _changed(name, body, receipts, options, **callbacks):
    out, report = call(name, _bytes(body), options, **callbacks)
    result = body if out is None else _like(body, out)
    if not receipts:
        return result
    return result, json.loads(report) if report is not None else None


def _bytes(body):
    if isinstance(body, bytes):
        return body
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    if isinstance(body, str):
        return body.encode()
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()


def _plain(value):
    """An object of an SDK as it sends it itself, such as the blocks of a reply that was put back into messages."""
    dump = getattr(value, "model_dump", None)
    of = type(value)
    if of.__module__.startswith("langchain"):
        raise TypeError(f"{of.__name__} is an object of LangChain: pare_llm.langchain.mend_messages takes a list of them")
    if dump is None:
        raise TypeError(f"{of.__name__} is neither JSON nor an object of an SDK: give dicts, lists, strings and numbers")
    return dump(mode="json", exclude_unset=True)


def _like(body, raw):
    """What came out, as the type of what went in."""
    if isinstance(body, (bytes, bytearray, memoryview)):
        return raw
    if isinstance(body, str):
        return raw.decode()
    return json.loads(raw)
