"""Runs everything twice: on the library, and on the program."""

import gc
import json
import os
import resource
import sys
import threading
import time
import unittest

import pare_llm
from pare_llm import _engine

BROKEN = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 9,
    "messages": [
        {"role": "user", "content": "run the tests — bitte"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]},
        {"role": "user", "content": "and?"},
    ],
}
CLEAN = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


def long(n):
    messages = []
    for i in range(n):
        messages += [
            {"role": "user", "content": f"question {i}"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{i}", "name": "bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "output " * 50}]},
            {"role": "assistant", "content": f"answer {i}"},
        ]
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages + [{"role": "user", "content": "go on"}]}


class Calls:
    def test_fix(self):
        self.assertIs(pare_llm.fix(CLEAN), CLEAN)
        fixed, plan = pare_llm.fix(BROKEN, receipts=True)
        self.assertEqual(plan["changes"][0]["rule"], "orphan-call")
        self.assertEqual(pare_llm.check(fixed)["findings"], [])
        self.assertEqual(fixed["messages"][0], BROKEN["messages"][0])
        raw = json.dumps(BROKEN, indent=1).encode()
        self.assertIsInstance(pare_llm.fix(raw), bytes)
        self.assertIsInstance(pare_llm.fix(raw.decode()), str)
        self.assertEqual(json.loads(pare_llm.fix(raw)), fixed)
        self.assertIsInstance(pare_llm.fix(BROKEN["messages"]), list)

    def test_fit_count_split_compact(self):
        body = long(30)
        fitted = pare_llm.fit(body, max_tokens=1000)
        self.assertLessEqual(pare_llm.count(fitted)["tokens"], 1000)
        head, tail, report = pare_llm.split(body, min_keep=4)
        self.assertEqual(len(head["messages"]), report["head"])
        self.assertEqual(head["messages"] + tail["messages"], body["messages"])
        self.assertEqual(pare_llm.split(CLEAN), (None, CLEAN, {"cut": 0, "head": 0, "tail": 1, "cuts": [], "inside": []}))
        self.assertIn("All is well.", json.dumps(pare_llm.compact(body, summary="All is well.", min_keep=4)))

    def test_errors(self):
        for want, call in (
            ("unreadable", lambda: pare_llm.fix(b'{"no":1}')),
            ("options", lambda: pare_llm.fit(CLEAN, max_token=5)),
            ("window_too_small", lambda: pare_llm.fit(BROKEN, max_tokens=1)),
            ("unknown_model", lambda: pare_llm.fit({"model": "nobody", "messages": CLEAN["messages"]})),
        ):
            with self.assertRaises(pare_llm.PareError) as raised:
                call()
            self.assertEqual(raised.exception.type, want)
        self.assertIs(pare_llm.fix(CLEAN), CLEAN)  # one error ends nothing

    def test_broken_json(self):
        with self.assertRaises(pare_llm.PareError) as raised:
            pare_llm.fix('{"messages":[')
        self.assertEqual(raised.exception.type, "unreadable")
        self.assertIn("invalid JSON", str(raised.exception))

    def test_objects_of_an_sdk(self):
        class Block:  # as pydantic has it
            def model_dump(self, mode, exclude_unset):
                return {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}

        reply = {"role": "assistant", "content": [Block()]}
        body = {**BROKEN, "messages": [BROKEN["messages"][0], reply, BROKEN["messages"][2]]}
        self.assertEqual(pare_llm.fix(body), pare_llm.fix(BROKEN))
        with self.assertRaisesRegex(TypeError, "object is neither JSON"):
            pare_llm.fix([object()])

        class HumanMessage:
            __module__ = "langchain_core.messages.human"

        with self.assertRaisesRegex(TypeError, "pare_llm.langchain.mend_messages"):
            pare_llm.fix([HumanMessage()])

    def test_threads(self):
        problems = []

        def work():
            try:
                for _ in range(50):
                    assert pare_llm.check(pare_llm.fix(BROKEN))["findings"] == []
                    gc.collect(0)
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(problems, [])


class OnLibrary(Calls, unittest.TestCase):
    def setUp(self):
        _engine._engine = _engine.Library(os.environ["PARE_LIBRARY"])

    def test_callbacks(self):
        asked = []

        def words(text):
            asked.append(text)
            return len(text.split())

        self.assertGreater(pare_llm.count(BROKEN, count=words)["tokens"], 0)
        self.assertIn("run the tests — bitte", asked)
        fitted = pare_llm.fit(long(30), max_tokens=500, count=words)
        self.assertLessEqual(pare_llm.count(fitted, count=words)["tokens"], 500)

        def rule(blocks):
            return [{"block": b["block"], "vote": "drop", "reason": "old"} for b in blocks if b.get("call_id") == "t0"]

        fixed, plan = pare_llm.fix(long(3), rule=rule, receipts=True)
        self.assertNotIn('"t0"', json.dumps(fixed))
        self.assertIn("old", json.dumps(plan))
        compacted = pare_llm.compact(long(9), min_keep=4, summarize=lambda removed: "In short: " + removed["blocks"][0]["kind"])
        self.assertIn("In short: call", json.dumps(compacted))

    def test_exceptions(self):
        def fails(*_):
            raise KeyError("mine")

        for call in (
            lambda: pare_llm.count(BROKEN, count=fails),
            lambda: pare_llm.fix(BROKEN, rule=fails),
            lambda: pare_llm.compact(long(9), min_keep=4, summarize=fails),
            lambda: pare_llm.count(BROKEN, count=lambda text: "no number"),
        ):
            with self.assertRaises((KeyError, ValueError)) as raised:
                call()
            self.assertNotIsInstance(raised.exception, pare_llm.PareError)

    def test_callbacks_answer_at_once(self):
        async def later(_):
            return "In short."

        for summarize, said in ((later, "async function"), (lambda _: None, "not NoneType"), (lambda _: ["In short."], "not list")):
            with self.assertRaisesRegex(TypeError, said):
                pare_llm.compact(long(9), min_keep=4, summarize=summarize)

    def test_memory_is_flat(self):
        body = json.dumps(long(3)).encode()
        broken = json.dumps(BROKEN).encode()

        def rounds(n):
            for _ in range(n):
                pare_llm.fix(broken)
                pare_llm.count(body, count=len)

        rounds(300)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rounds(1500)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 16 << 10, "kilobytes in 1,500 rounds")  # a leak of one body each is 3 MB and more

    @unittest.skipUnless(hasattr(os, "fork"), "no fork on this system")
    def test_fork(self):
        """The library refuses to run in a child of fork, and the package then uses the program."""
        pare_llm.fix(BROKEN)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _engine._engine.pid = os.getpid()  # as if nobody had looked
                try:
                    pare_llm.fix(BROKEN)
                except pare_llm.PareError as problem:
                    if problem.type == "forked":
                        _engine._engine.pid = 0
                        status = 7 if pare_llm.check(pare_llm.fix(BROKEN))["findings"] == [] else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)

    def test_figures(self):
        """Figures are printed, and decide nothing."""
        with open(os.environ["PARE_CLEAN"], "rb") as f:
            body = f.read()

        def best(call, n=10):
            least = 1e9
            for _ in range(n):
                start = time.process_time()
                call()
                least = min(least, time.process_time() - start)
            return least * 1e3

        small = json.dumps(CLEAN).encode()
        each = best(lambda: [pare_llm.fix(small) for _ in range(1000)], 3)
        sys.stderr.write(f"\nclean {len(body)} bytes: fix {best(lambda: pare_llm.fix(body)):.2f} ms, json.loads + dumps {best(lambda: json.dumps(json.loads(body)), 3):.0f} ms; smallest call {each:.2f} us\n")


class OnProgram(Calls, unittest.TestCase):
    def setUp(self):
        _engine._engine = _engine.Program(os.environ["PARE_PROGRAM"])

    def tearDown(self):
        _engine._engine.process.stdin.close()
        self.assertEqual(_engine._engine.process.wait(), 0)
        _engine._engine.process.stdout.close()

    def test_callbacks_need_the_library(self):
        with self.assertRaises(pare_llm.PareError) as raised:
            pare_llm.count(BROKEN, count=len)
        self.assertEqual(raised.exception.type, "callback")


if __name__ == "__main__":
    unittest.main()
