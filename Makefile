# `make demo` shows what shoal does; `make test` proves that it does. Each sets up what it needs.
# `make proofs` and `make long` prove the rest. CONTRIBUTING.md says which proves what.

# Where rustup puts cargo, and Debian the tools for file systems; a shell may know neither.
export PATH := $(CURDIR)/target/tools/bin:$(HOME)/.cargo/bin:$(PATH):/usr/local/sbin:/usr/sbin:/sbin
# Nothing is left outside this folder, apart from what cargo itself keeps.
export npm_config_cache := $(CURDIR)/target/npm
export npm_config_update_notifier := false
export npm_config_fund := false
export npm_config_audit := false

DEMO_REPORT := shoal-demo.html

.PHONY: help demo test proofs long packages setup-demo setup-test setup-packages
.NOTPARALLEL:

help:
	@echo 'make demo     from six image files to a measured array, on real I/O; the report is $(DEMO_REPORT)'
	@echo 'make test     what finds mistakes early: every gate, and the tests of minutes'
	@echo 'make proofs   all other tests, in their full size'
	@echo 'make long     what takes hours'
	@echo 'make packages Debian packages and static programs for amd64, arm64 and armhf; ARCH=amd64 for one'
	@echo 'BUSY=1        with any of these tests: meanwhile a loop takes each processor'

demo: setup-demo
	cargo run --profile demo --locked --package shoal -- demo --report $(DEMO_REPORT)

long: setup-packages

test proofs long: setup-test
	cargo xtask $@ $(if $(BUSY),busy)

packages: setup-packages
	cargo xtask packages $(ARCH)

setup-demo:
	@scripts/setup demo

setup-test:
	@scripts/setup test

setup-packages:
	@scripts/setup packages
