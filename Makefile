# Two commands for everybody: `make demo` and `make test`. Each sets up what it needs.

PYTHON ?= python3
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: help demo test test-rust test-python test-long test-golden golden lint bench-peers bench-scale reproduce validate schema images clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo: .venv/installed ## the headline scenario and a replay of a capture, ending in reports to open
	@$(BIN)/python scripts/demo.py

test: test-rust test-python ## every test

test-rust: .tools-checked
	cargo test --workspace --exclude fairdrop-py

test-python: .venv/dev
	$(BIN)/python -m pytest

test-long: .venv/dev ## the property tests with a million cases each, models with more examples
	PROPTEST_CASES=1000000 cargo test --workspace --exclude fairdrop-py
	FAIRDROP_LONG=1 $(BIN)/python -m pytest

test-golden: ## golden results in the profiles for debugging and for release
	cargo test --package fairdrop-sim --test golden
	cargo test --package fairdrop-sim --test golden --release

golden: ## write the hashes of tests/golden anew, when a change of results is meant
	FAIRDROP_WRITE_GOLDEN=1 cargo test --package fairdrop-sim --test golden

lint: .venv/dev ## formatting, clippy, ruff, mypy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/mypy

bench-peers: .venv/installed ## The simulator beside ns-2, ns-3 and htsim, in one run (see benches/peers/README.md)
	$(BIN)/python benches/peers/bench_peers.py $(PEERS)

bench-scale: .venv/installed ## what a packet and a flow cost, from 10 flows to 1,000,000 (see benches/scale/README.md)
	cargo build --release --package fairdrop-sim --example cost
	$(BIN)/python benches/scale/bench_scale.py $(SCALE)

validate: .venv/installed ## the simulator beside exact results, ns-2 and the RFCs; a report
	$(BIN)/python validation/validate.py

reproduce: .venv/installed ## every figure, table and claim of the five papers, profile quick
	@$(BIN)/fairdrop reproduce

images: .venv/installed ## redraw the pictures of the README
	$(BIN)/python docs/make_images.py

schema: .venv/installed ## regenerate the checked-in JSON Schema
	$(BIN)/fairdrop schema > schema/scenario.json

clean: ## remove builds, the environment and results
	rm -rf target .venv results reproduction .tools-checked

.tools-checked: scripts/check_tools.sh
	@PYTHON=$(PYTHON) sh scripts/check_tools.sh
	@touch $@

.venv/pip: .tools-checked
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

.venv/installed: .venv/pip $(RUST)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/dev: .venv/installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
