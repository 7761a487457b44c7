#!/usr/bin/env bash
# Runs the suites of the systems that Pare replaces, unchanged, against the thin modules of adapters/seeds.
# PARE_SEEDS names a folder with copies of their repositories (pi-dcp, agent-message-window, agents-api), and of a host
# whose suites our adapter has to pass (langchainjs); none of their code is kept here. PARE_NPM is a folder with
# @pare-llm/pare in its node_modules, as a release packs it, and for langchainjs what that depends on.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${PARE_SEEDS:?a folder with copies of pi-dcp, agent-message-window and agents-api}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

suite=$PARE_SEEDS/agent-message-window/tests/test_agent_message_window.py
if [ -f "$suite" ]; then
  echo "agent-message-window:"
  CGO_ENABLED=1 "${GO:-go}" build -buildmode=c-shared -o "$work/libpare.so" ./bindings/c
  PYTHONPATH=adapters/seeds/message-window:bindings/python PARE_LIBRARY=$work/libpare.so PYTHONDONTWRITEBYTECODE=1 \
    python3 adapters/seeds/message-window/pytest.py "$suite"
else
  echo "agent-message-window: no copy in $PARE_SEEDS, left out"
fi

if [ -d "$PARE_SEEDS/pi-dcp/tests" ] && [ -d "${PARE_NPM:-}/node_modules/@pare-llm/pare" ] && command -v bun >/dev/null; then
  echo "pi-dcp:"
  mkdir -p "$work/dcp/node_modules"
  cp -r adapters/seeds/pi-dcp/src "$PARE_SEEDS/pi-dcp/tests" "$work/dcp"
  ln -s "$PARE_NPM/node_modules/@pare-llm" "$work/dcp/node_modules/@pare-llm"
  (cd "$work/dcp" && bun test)
else
  echo "pi-dcp: no copy in $PARE_SEEDS, no PARE_NPM or no bun, left out"
fi

middleware=$PARE_SEEDS/langchainjs/libs/langchain/src/agents/middleware
if [ -d "$middleware/tests" ] && [ -d "${PARE_NPM:-}/node_modules/@langchain/langgraph" ] && command -v bun >/dev/null; then
  echo "langchainjs:"
  mkdir -p "$work/langchain"
  cp -r "$PARE_SEEDS/langchainjs/libs/langchain/src" "$work/langchain"
  ln -s "$PARE_NPM/node_modules" "$work/langchain/node_modules"
  for module in contextEditing summarization; do
    mv "$work/langchain/src/agents/middleware/$module.ts" "$work/langchain/src/agents/middleware/$module.theirs.ts"
    cp "adapters/seeds/langchain/$module.ts" "$work/langchain/src/agents/middleware"
  done
  (cd "$work/langchain" && bun test src/agents/middleware/tests/contextEditing.test.ts src/agents/middleware/tests/summarization.test.ts)
else
  echo "langchainjs: no copy in $PARE_SEEDS, not what it depends on in PARE_NPM, or no bun, left out"
fi

if [ -f "$PARE_SEEDS/agents-api/tests/tool-pair-validator-smoke.php" ] && command -v php >/dev/null; then
  echo "agents-api:"
  "${GO:-go}" build -o "$work/pare" ./cmd/pare
  cp -r "$PARE_SEEDS/agents-api" "$work/agents-api"
  cp adapters/seeds/agents-api/class-wp-agent-tool-pair-validator.php "$work/agents-api/src/Runtime/"
  PARE_PROGRAM=$work/pare php "$work/agents-api/tests/tool-pair-validator-smoke.php"
else
  echo "agents-api: no copy in $PARE_SEEDS or no php, left out"
fi
