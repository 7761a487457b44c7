"""A window of messages that never holds half a pair: the newest stay, and what they need."""

import pare_llm


class Window:
    def __init__(self, max_messages):
        self.max_messages = max_messages
        self.messages = []

    def add(self, message):
        now = [*self.messages, message]
        if len(now) > self.max_messages:
            now = pare_llm.fit(now, **{"as": "anthropic", "max_messages": self.max_messages})
        self.messages = now
        return self


window = Window(8)
for turn in range(10):
    window.add({"role": "user", "content": f"question {turn}"})
    window.add({"role": "assistant", "content": [{"type": "tool_use", "id": f"t{turn}", "name": "search", "input": {}}]})
    window.add({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": "found"}]})
    window.add({"role": "assistant", "content": f"answer {turn}"})
    assert len(window.messages) <= 8
print(pare_llm.check(window.messages, **{"as": "anthropic"})["findings"], window.messages[-1]["content"])
