import gc
import json
import os
import sys
import threading
import time
import unittest

import pare_llm
from pare_llm import _engine

CALLS = int(os.environ.get("PARE_CALLS", "4000"))
BODY = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hello there"}]}).encode()


def resident():
    """What this process holds now, in kilobytes; 0 where nobody can say."""
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10
    except OSError:
        return 0


class Mine(Exception):
    pass


class Soak(unittest.TestCase):
    """Calls with callbacks, by four threads: one in five raises, some collect garbage or fork in the middle of a call. PARE_CALLS says how many."""

    def test_callbacks(self):
        _engine._engine = _engine.Library(os.environ["PARE_LIBRARY"])
        lock, seen, problems = threading.Lock(), {"raised": 0, "forked": 0}, []

        def call(i):
            def count(text):
                if i % 10 == 3:
                    raise Mine(i)
                if i % 1000 == 5:
                    gc.collect()
                if i % (CALLS // 20) == 7 and hasattr(os, "fork"):
                    child = os.fork()
                    if child == 0:
                        os._exit(3)
                    with lock:
                        seen["forked"] += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
                return len(text)

            def rule(blocks):
                if i % 10 == 6:
                    raise Mine(i)
                return []

            try:
                if i % 2:
                    assert pare_llm.count(BODY, count=count)["tokens"] > 0
                else:
                    assert pare_llm.fix(BODY, rule=rule) is BODY
                assert i % 10 not in (3, 6)
            except Mine as e:
                assert e.args == (i,)
                with lock:
                    seen["raised"] += 1

        def work(first, n):
            try:
                for i in range(first, first + n):
                    call(i)
            except BaseException as problem:
                problems.append(problem)

        def run(n):
            threads = [threading.Thread(target=work, args=(k * n // 4, n // 4)) for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()

        run(CALLS // 4)
        gc.collect()
        seen.update(raised=0, forked=0)
        before, began = resident(), time.process_time()
        run(CALLS)
        took = time.process_time() - began
        gc.collect()
        after = resident()
        self.assertEqual(problems, [])
        self.assertEqual(seen["raised"], CALLS // 5)
        self.assertEqual(seen["forked"], 20 if hasattr(os, "fork") else 0)
        self.assertLess(after - before, 16 << 10, f"kilobytes more behind {CALLS} calls")
        sys.stderr.write(f"\n{CALLS} calls with callbacks, {seen['raised']} raised, {seen['forked']} forks: {took:.1f} s of processor time, {before} KB before, {after} KB after\n")
