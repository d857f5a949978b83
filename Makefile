SHELL   := /bin/sh
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BENCH   ?= .

.PHONY: help test skipped adapters tools tidy format vet staticcheck bench benchmarks fuzz build cross manual completions release

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

# RACES are the packages in which goroutines share something: the race detector is there. Everything else, limiter at full
# volume, which -short makes less, and the lists of limiters run without it, in a third of the time. Most tests of a
# package that has a server wait, so that four packages, and eight tests of each, go side by side on two cores.
RACES := ./feed ./feed/connect ./feed/demo ./feed/fire ./feed/metrics ./feed/notify ./feed/relay \
	./feed/watch ./feed/watch/discover ./feed/watch/hotkeys ./internal/goroutine \
	./limiter ./limiter/httplimit ./limiter/limitertest ./limiter/redisstore ./model/handoff ./tui/class
# ALONE measures what a neighbour would change. QUIET are tests that the race detector would make slow without a
# reason: each asks from one goroutine.
ALONE := ^TestFarAwayInFewRoundTrips$$
QUIET := ^TestHomemade|^TestLuaAgreesWithGo$$|^TestServerClockAgreesWithGo$$|^TestForeign(Values|Keyspace)|^TestScriptsRead$$|^TestTrimIsBounded$$
QUIET := $(QUIET)|^TestStreamsOfOneInstant$$|^TestSeveralAgrees$$|^TestChosenNamesOnACluster$$|^TestConformanceElsewhere$$
QUIET := $(QUIET)|AsATwin$$|^TestWithdrawnAmongOthers$$|^TestForecastOnAServer$$
# RACING are the tests of ./cmd and ./model in which goroutines share something.
RACING := AtOnce|Leave$$|LastBatch|Record|Signals|Teach|DebugLog|Identify|AlertTest
TESTS := RATESCOPE_REQUIRE_REDIS=1 go test -vet=off -p 4 -timeout 15m

# Nothing in a test reads debugging information; without it a fresh clone needs less disk.
test: export GOFLAGS += -gcflags=all=-dwarf=false
# Collecting garbage less often saves a fifth of the time of compiling and testing, for some more memory.
test: export GOGC = 400
# A program under the race detector waits at its end for races still to come: a second, if nothing is said.
test: export GORACE = atexit_sleep_ms=50
test: tools tidy format vet staticcheck ## installs what the tests need, then checks and runs everything
	$(TESTS) -parallel 8 -skip '$(QUIET)' ./limiter ./tui/e2e $$(go list ./... | grep -vxF "$$(go list $(RACES))")
	$(TESTS) -parallel 4 -run '$(QUIET)' ./feed/decode ./feed/fire ./limiter/redisstore
	$(TESTS) -run '$(ALONE)' ./feed/watch
	$(TESTS) -parallel 8 -race -short -skip '$(ALONE)|$(QUIET)' $(RACES)
	$(TESTS) -parallel 8 -race -short -run '$(RACING)' ./cmd ./model
	@$(MAKE) --no-print-directory adapters
	@$(MAKE) --no-print-directory skipped

# go test keeps to itself why a test of a package that passes was skipped.
skipped: ## says what this machine lacks, so that make test left it out
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || echo "SKIPPED: prometheus is not installed, so Prometheus itself neither checked nor ran docs/deploy: apt-get install prometheus" >&2
	@command -v prometheus-alertmanager >/dev/null || command -v alertmanager >/dev/null || echo "SKIPPED: Alertmanager is not installed, so it did not take the alerts itself: apt-get install prometheus-alertmanager" >&2
	@case "$$($${RATESCOPE_REDIS_SERVER:-redis-server} --version)" in *v=[1-7].*|*v=8.[0-5].*) \
		echo "SKIPPED: HOTKEYS was tested against recorded replies alone: set RATESCOPE_REDIS_SERVER to a redis-server from 8.6 on" >&2;; esac
	@command -v bash >/dev/null || echo "SKIPPED: bash is not installed, so it did not read what is quoted for it" >&2
	@git rev-parse >/dev/null 2>&1 || echo "SKIPPED: this is no repository of git, so .dockerignore was not compared with what the image needs" >&2
	@[ "$$(uname)" = Linux ] || echo "SKIPPED: only Linux tells how its cores spend their time" >&2

# The adapters are modules of their own, whose dependencies nothing else needs.
ADAPTERS := limiter/grpclimit limiter/otellimit limiter/promlimit
# What limiter/bench measures is run by make bench; here it is checked to build.
adapters: ## checks and tests the adapters for gRPC, OpenTelemetry and Prometheus
	@for dir in $(ADAPTERS) limiter/bench; do (cd $$dir && \
		if go mod download; then go vet ./... && { [ $$dir = limiter/bench ] || go test ./...; }; \
		else echo "SKIPPED: the dependencies of $$dir cannot be downloaded here, so it was not tested" >&2; fi) || exit 1; done

# The tests start their own redis-server on a free port, and drive the built program
# in tmux. -race needs a C compiler.
tools: ## installs what the tests need
	@missing=; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	command -v tmux >/dev/null || missing="$$missing tmux"; \
	command -v cc >/dev/null || command -v gcc >/dev/null || missing="$$missing gcc libc6-dev"; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing:$$missing"; \
	if command -v apt-get >/dev/null; then \
		if [ "$$(id -u)" = 0 ]; then as=; \
		elif command -v sudo >/dev/null; then as=sudo; \
		else echo "The tests need$$missing: run 'apt-get install$$missing' as root, then make test again." >&2; exit 1; fi; \
		$$as env DEBIAN_FRONTEND=noninteractive apt-get update -q && \
		$$as env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
	elif command -v brew >/dev/null; then \
		case "$$missing" in *gcc*) echo "The race detector needs a C compiler: run 'xcode-select --install', then make test again." >&2; exit 1;; esac; \
		brew install $$(echo "$$missing" | sed s/redis-server/redis/); \
	else \
		echo "The tests need$$missing, and neither apt-get nor brew is here: install them, then make test again." >&2; exit 1; \
	fi

tidy: ## checks that go.mod and go.sum are tidy
	go mod tidy -diff

format: ## checks that every file is formatted
	@unformatted="$$(gofmt -l .)"; \
	[ -z "$$unformatted" ] || { echo "These files are not formatted, run 'gofmt -w .':" >&2; echo "$$unformatted" >&2; exit 1; }

vet: ## runs go vet
	go vet ./...

# go tool would build it without GOFLAGS, and with it everything again that the tests build with them.
staticcheck: ## runs staticcheck
	go run honnef.co/go/tools/cmd/staticcheck ./...

# To compare two commits, keep what each prints: go run golang.org/x/perf/cmd/benchstat@latest OLD NEW
bench: ## measures what docs/performance.md promises
	go test ./tui/e2e -run '^$$' -bench 'FirstFrame|^BenchmarkScreen$$' -benchtime 1x -count 3 -timeout 20m
	go test ./feed/watch -run '^$$' -bench 'MillionKeys|OthersLatency|Masters' -benchtime 1x -timeout 20m
	go test ./model/record -run '^$$' -bench 'Hour|TailMemory' -benchtime 1x -timeout 20m
	go test ./model/record -run '^$$' -bench 'PlayerSeek' -benchtime 20x -count 3 -timeout 20m
	cd limiter/bench && go test . -run '^$$' -bench 'Throughput|Server' -benchtime 1x -timeout 20m

benchmarks: ## runs every benchmark, or those of BENCH, and prints their tables
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 25m ./...
	cd limiter/bench && go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 20m .

build: ## builds bin/ratescope with its version inside
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ratescope .

# Every parser of foreign bytes has a fuzz target; each runs for FUZZTIME.
FUZZTIME ?= 1m
fuzz: ## runs every fuzz target for FUZZTIME, a minute by default
	@grep -rl --include=*_test.go '^func Fuzz' . | grep -v testdata | xargs -n1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -h '^func Fuzz' $$dir/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
			echo "$$dir $$target"; \
			go test $$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

cross: ## builds for linux, darwin, windows and freebsd, amd64 and arm64
	@for os in linux darwin windows freebsd; do for arch in amd64 arm64; do \
		echo "$$os/$$arch"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o /dev/null . || exit 1; \
	done; done

manual: build ## writes the manual page, dated by the commit
	bin/ratescope man > bin/ratescope.1

# Licence and path of the module are the owner's to choose: a release says the path.
MODULE ?=
PROXY  ?= $(CURDIR)/bin/proxy
release: ## writes VERSION of every module to PROXY: make release VERSION=v1.0.0 MODULE=host/owner/ratescope
	@sh docs/deploy/release.sh "$(VERSION)" "$(MODULE)" "$(PROXY)"

completions: build ## writes completions for bash, zsh, fish and PowerShell
	@mkdir -p bin/completions
	@for shell in bash zsh fish powershell; do bin/ratescope completion $$shell > bin/completions/ratescope.$$shell || exit 1; done
