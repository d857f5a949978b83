# make test    installs what the tests need, then checks and runs everything
# make bench   runs the benchmarks and prints their tables
# make build   builds bin/ratescope with its version inside

SHELL   := /bin/sh
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BENCH   ?= .

.PHONY: test tools format vet staticcheck bench build

test: tools format vet staticcheck
	RATESCOPE_REQUIRE_REDIS=1 go test -race -timeout 8m ./...

# The tests start their own redis-server on a free port, and drive the built program
# in tmux. -race needs a C compiler.
tools:
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

format:
	@unformatted="$$(gofmt -l .)"; \
	[ -z "$$unformatted" ] || { echo "These files are not formatted, run 'gofmt -w .':" >&2; echo "$$unformatted" >&2; exit 1; }

vet:
	go vet ./...

staticcheck:
	go tool staticcheck ./...

bench:
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 25m ./...
	cd limiter/bench && go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 20m .

build:
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ratescope .
