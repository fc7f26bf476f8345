# `make demo` shows what shoal does; `make test` proves that it does. Each sets up what it needs.
# Everything else here is a part of `make test` that can be run alone; CONTRIBUTING.md says more.

# Where rustup puts cargo, and Debian the tools for file systems; a shell may know neither.
export PATH := $(HOME)/.cargo/bin:$(PATH):/usr/local/sbin:/usr/sbin:/sbin
# Nothing is left outside this folder, apart from what cargo itself keeps.
export npm_config_cache := $(CURDIR)/target/npm
export npm_config_update_notifier := false
export npm_config_fund := false
export npm_config_audit := false

DEMO_REPORT := shoal-demo.html

.PHONY: help demo test gates rust planted fuzz documentation web aarch64 setup-demo setup-test
.NOTPARALLEL:

help:
	@echo 'make demo   from six image files to a measured array, on real I/O; the report is $(DEMO_REPORT)'
	@echo 'make test   every gate and every test'

demo: setup-demo
	cargo run --release --locked --package shoal -- demo --report $(DEMO_REPORT)

test: setup-test gates rust planted fuzz documentation web aarch64

gates:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	cargo xtask tidy
	cargo xtask purity

# As many seeds as fault hunting is held to; a hundred unless told.
rust:
	SHOAL_SEEDS=10000 cargo test --workspace --locked

planted:
	cargo xtask planted short

fuzz:
	cargo xtask fuzz

documentation:
	RUSTDOCFLAGS='--deny warnings' cargo doc --workspace --no-deps --locked

web:
	@if command -v npm >/dev/null && [ "$$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]; then \
		cd web && npm ci && npm run check && npm test; \
	else \
		echo 'SKIPPED: the checks of the report viewer need npm and node 20 or newer'; \
	fi

aarch64:
	cargo xtask aarch64

setup-demo:
	@scripts/setup demo

setup-test:
	@scripts/setup test
