"""What agent-message-window promises, on Pare: a window that is cut where no pair is torn."""

import copy

import pare_llm


class WindowOverflowError(RuntimeError):
    """What belongs together does not fit."""


class AgentMessageWindow:
    def __init__(self, max_messages=None, *, system=None):
        if max_messages is not None and max_messages < 1:
            raise ValueError(f"max_messages is {max_messages}: expected 1 or more")
        self.max_messages = max_messages
        self._system = copy.deepcopy(system)
        self._kept = []

    def add(self, message):
        return self.replace([*self._kept, message])

    def add_many(self, messages):
        for message in messages:
            self.add(message)
        return self

    def clear(self):
        self._kept = []
        return self

    def replace(self, messages):
        self._kept = self._window(copy.deepcopy(list(messages)))
        return self

    def _window(self, messages):
        if self.max_messages is None or len(messages) <= self.max_messages:
            return messages
        torn = _torn(messages)
        for cut in range(len(messages) - self.max_messages, len(messages)):
            if _torn(messages[cut:]) <= torn:
                return messages[cut:]
        raise WindowOverflowError(f"no {self.max_messages} messages at the end hold whole pairs only")

    @property
    def messages(self):
        return copy.deepcopy(self._kept if self._system is None else [self._system, *self._kept])

    @property
    def count(self):
        return len(self._kept)

    @property
    def is_empty(self):
        return not self._kept

    def last(self, n=1):
        return copy.deepcopy(self._kept[max(0, len(self._kept) - max(n, 0)) :])

    def first(self, n=1):
        return copy.deepcopy(self._kept[: max(n, 0)])

    def __len__(self):
        return len(self._kept)

    def __repr__(self):
        return f"AgentMessageWindow(max_messages={self.max_messages}, count={self.count})"


def _torn(messages):
    """The ids of results whose calls are not there."""
    found = pare_llm.check({"messages": messages}, **{"as": "anthropic", "profile": "pairs"})["findings"]
    return {id for f in found if f["rule"] in ("orphan-result", "displaced-result") for id in f["ids"]}
