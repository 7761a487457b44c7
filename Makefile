# The two commands a stranger needs are in README.md; the rest is for us.
GO ?= go

.PHONY: test check bench fuzz fmt build release relations browser

# The program knows its commit, also where the Go tool does not stamp it.
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
build:
	$(GO) build -ldflags "-X main.stampedCommit=$(COMMIT)" -o pare ./cmd/pare

# Archives for all systems, with checksums, in dist; VERSION=v1.2.3 names one that has no tag.
release:
	$(GO) run ./internal/release -version "$(VERSION)"

# The whole test suite. CI runs this and nothing else decides.
# One package after the other: several of them measure time.
test: browser
	$(GO) test -p 1 ./...

# The tests of the pages drive Chromium; this installs it where it is missing.
browser:
	@scripts/browser.sh

# What a change must pass before it is committed.
check: fmt browser
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -race ./...
	$(GO) test -tags purego ./internal/jsonspan
	$(MAKE) fuzz FUZZTIME=10s
	@test -z "$$(git status --porcelain)" || { git status --short; echo "the tree is not clean"; exit 1; }

fmt:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }

# Every fuzz target for FUZZTIME, one after the other.
FUZZTIME ?= 10m
fuzz:
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "fuzz $$pkg $$target $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

# The relations of the engine on a million random histories.
relations:
	PARE_HISTORIES=1000000 $(GO) test -timeout 4h -run Relations .

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...
