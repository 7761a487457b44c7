import importlib.util
import json
import os
import unittest

EXAMPLE = os.path.join(os.path.dirname(__file__), "../../../examples/data/ray_data.py")


class Data(unittest.TestCase):
    """The example for Ray Data, with batches as Ray makes them, but without Ray."""

    def test_ray(self):
        spec = importlib.util.spec_from_file_location("ray_data", EXAMPLE)
        ray_data = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(ray_data)
        clean = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        broken = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "user", "content": "so?"}]}
        batch = {"id": [1, 2, 3], "sample": [clean, broken, "{}"]}
        out = ray_data.repair(batch)
        self.assertIs(out["sample"][0], clean)
        self.assertEqual(out["changed"], [False, True, False])
        self.assertEqual(out["rules"], [[], ["orphan-call"], ["unreadable"]])
        self.assertEqual(json.loads(out["sample"][1])["messages"][2]["tool_call_id"], "c")
        self.assertEqual((out["id"], out["sample"][2]), ([1, 2, 3], "{}"))
