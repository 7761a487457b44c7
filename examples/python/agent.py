"""Sends a history with an unanswered call to a provider: as it is, then repaired.

    python3 agent.py http://127.0.0.1:8899
"""

import json
import sys
import urllib.error
import urllib.request

from pare import Pare

BROKEN = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "messages": [
        {"role": "user", "content": "Run the tests."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"cmd": "make test"}}]},
        {"role": "user", "content": "Still there?"},  # the agent was interrupted before the result came
    ],
}


def send(base, body):
    """The status of the provider's answer, and what it says."""
    request = urllib.request.Request(base + "/v1/messages", json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.load(reply)["content"][0]["text"]
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)["error"]["message"]


def main(base):
    fix = Pare()
    print(*send(base, BROKEN))
    print(*send(base, fix(BROKEN)))
    try:
        fix({"no": "messages"})
    except ValueError as problem:
        print("refused:", problem)
    print(*send(base, fix(BROKEN)))  # one bad line ends nothing
    fix.close()


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
