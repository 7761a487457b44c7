# The two commands a stranger needs are in README.md; the rest is for us.
GO ?= go

# The library, and the modules of their own beside it: other languages, the program, the store, our tools.
ALL := ./... ./bindings/... ./cmd/... ./store/... ./tools/...

.PHONY: adapters postgres test check bench bench-floors prose fuzz fmt build campaign release relations browser emulator soak shells typescript

# The program knows its commit, also where the Go tool does not stamp it.
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
build:
	$(GO) build -ldflags "-X main.stampedCommit=$(COMMIT)" -o pare ./cmd/pare

# Archives for all systems, packages for npm and Python, an SBOM and checksums, in dist; VERSION=v1.2.3 names one that has no tag.
release:
	$(GO) run ./tools/release -version "$(VERSION)"

# The whole test suite. CI runs this and nothing else decides. It ends with what was
# skipped and why. No time decides: an hour is for what hangs. FLAGS=-count=1 runs every test
# again and tells which packages take the most processor time.
FLAGS ?=
test: browser postgres emulator shells typescript
	$(GO) run ./tools/testrun -timeout 1h $(FLAGS) $(ALL)

# What needs hours or a quiet machine: a hundred times the samples (the relations of the engine on
# a million histories), what is measured by the clock, the real client, long fuzz.
soak: browser postgres emulator shells typescript
	scripts/client.sh || echo "soak: some real clients are left out"
	PARE_SOAK=1 PARE_CLIENTS_TEST=1 $(GO) run ./tools/testrun -p 1 -count 1 -timeout 24h $(ALL)
	$(MAKE) adapters
	$(MAKE) campaign
	$(MAKE) fuzz FUZZTIME=2h

# The adapters are modules of their own, so that Pare does not depend on what they adapt to.
adapters: postgres
	@for m in adapters/*/go.mod; do (cd "$$(dirname "$$m")" && GOWORK=off $(GO) test ./...) || exit 1; done
	PARE_ADAPTERS=1 $(GO) test -count=1 ./store -run TestClaudeAgentSDKAdapter

# Real agents with damaged and repaired sessions, those that scripts/client.sh has installed; ONLY=Codex is one,
# Prints a table for each. DOCTOR="too long" asks pare doctor about full sessions instead.
ONLY ?=
DOCTOR ?=
campaign: build
	$(GO) run ./tools/campaign --pare ./pare --only "$(ONLY)" $(if $(DOCTOR),--doctor --damage "$(DOCTOR)")

# The example in TypeScript is compiled and run in a test; this installs the compiler where it is missing.
typescript:
	@scripts/typescript.sh

# The tests of the pages drive Chromium and ask axe; this installs them where they are missing.
browser:
	@scripts/browser.sh
	@scripts/axe.sh

# The tests of the store use a real PostgreSQL; this installs it where it is missing.
postgres:
	@scripts/postgres.sh

# The kernel for arm64 is tested under QEMU; this installs it where it is missing.
emulator:
	@scripts/emulator.sh

# The completions are tested in their shells; this installs those that are missing.
shells:
	@scripts/shells.sh

# What a change must pass before it is committed.
check: fmt browser postgres emulator shells
	$(GO) vet $(ALL)
	GOOS=windows $(GO) vet $(ALL)
	GOWORK=off $(GO) build -C tools/lint -o "$(CURDIR)/dist/staticcheck" honnef.co/go/tools/cmd/staticcheck
	dist/staticcheck $(ALL)
	$(GO) test -race $(ALL)
	$(GO) test -tags purego ./internal/jsonspan
	$(MAKE) fuzz FUZZTIME=10s
	@test -z "$$(git status --porcelain)" || { git status --short; echo "the tree is not clean"; exit 1; }

fmt:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }

# Every fuzz target for FUZZTIME, one after the other, with how many inputs it tried.
FUZZTIME ?= 10m
fuzz:
	@GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)

# The relations of the engine on a million random histories.
relations:
	PARE_HISTORIES=1000000 $(GO) test -count 1 -timeout 8h -run Relations ./tools/engine

# First the race on dense and sparse bodies against what else reads them, then all the rest.
bench:
	@command -v bun >/dev/null || scripts/client.sh bun@1.4.4 || echo "bench: not compared with Bun"
	$(GO) test -run '^$$' -bench Dense -benchtime 1x .
	$(GO) test -run '^$$' -bench . -benchmem $(ALL)

# Speeds that Pare guarantees, as ratios of processor time in one run. Fails below a floor.
bench-floors:
	$(GO) run ./tools/floors

# Words that make our English hard to read, per 1,000 words of comments and of Markdown.
prose:
	$(GO) run ./tools/prose
