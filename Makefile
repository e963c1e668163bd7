# Two commands do everything: `make demo` and `make test`. Both install what they need into this checkout.

PYTHON ?= python3
VENV := .venv
BIN := target/release/wearwell
# cargo's warnings and the examples' output go to the terminal; results go here.
RESULTS := results

# Rooms of the engine, by default all; options of scripts/mutants.py.
ROOMS ?=
MUTANTS ?=

.PHONY: demo test properties power mutants test-rust test-python lint build python bench fuzz clean help

help:
	@echo 'make demo    build Wearwell, replay the shipped trace on a drive until it is steady, print the result'
	@echo 'make test    build and run every test, Rust and Python'
	@echo 'make properties   the property tests with new and many more random cases (minutes)'
	@echo 'make power   power cuts of every FTL, more than a million of them (minutes)'
	@echo 'make mutants   small changes to the engine that unit tests must notice (a night; ROOMS=wear: minutes)'
	@echo 'make lint    formatting and lints, as the continuous integration runs them'
	@echo 'make bench   the benchmarks (minutes; see docs/performance.md)'
	@echo 'make python  install the Python package into $(VENV)'

demo: build
	@mkdir -p $(RESULTS)
	$(BIN) run scenarios/demo.toml --output $(RESULTS)/demo.json
	@echo
	@echo 'The result, time series and all, is in $(RESULTS)/demo.json; repeat it with'
	@echo '    $(BIN) run $(RESULTS)/demo.json'

build:
	cargo build --release -p wearwell

test: test-rust test-python

# Random cases from one seed, so that a test that passed passes again; `make properties` draws new and many more. The
# programs of the experiments have no tests of their own: `make lint` compiles them.
test-rust:
	PROPTEST_RNG_SEED=2026 cargo test --workspace --exclude wearwell-python --lib --bin wearwell --examples --test '*'
	PROPTEST_RNG_SEED=2026 cargo test --workspace --exclude wearwell-python --doc

properties:
	PROPTEST_CASES=3000 cargo test --no-fail-fast -p wearwell-base -p wearwell-trace -p wearwell-theory -p wearwell-workload \
		-p wearwell-engine -p wearwell-stack -p wearwell-study

power:
	WEARWELL_CUTS=40 cargo test --release -p wearwell-engine --test power -- --nocapture

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

lint: python
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(VENV)/bin/ruff check python
	$(VENV)/bin/mypy --strict python/wearwell

bench:
	cargo bench --bench engine
	cargo bench --bench workload
	cargo bench --bench trace
	cargo bench --bench theory
	cargo bench --bench stack
	cargo bench --bench timing
	cargo bench --bench dedup
	cargo bench --bench mapping
	cargo bench --bench validity
	cargo bench --bench ftl

clean:
	rm -rf target $(VENV) $(RESULTS)
