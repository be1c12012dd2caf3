# On a fresh machine with Python 3.11 or newer:  make demo,  make test.
# The first call builds .venv; later calls rebuild it only when pyproject.toml has changed.

VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.dmaverify-dev
# The first interpreter that is new enough and can make a virtual environment.
PYTHON ?= $(shell for p in python3.12 python3.11 python3.13 python3 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
PYTEST ?= -n 2 --dist loadfile
DEMO   ?= examples/first.toml::relayout
ARGS   ?=
PROGRAMS ?= --count 20000
MUTANTS ?=
WRITTEN ?= --count 100000

.DEFAULT_GOAL := help
.PHONY: blocks coq help planted-rust venv demo test slow docs bench fuzz fuzz-idma fuzz-pto fuzz-inputs fuzz-synth mutants agree rewritings calibrate lint wheel clean

help:
	@echo "make demo       check the examples; derive, run, explain; a broken plan"
	@echo "make test       the whole test suite, offline, four to eight minutes on two cores"
	@echo "make slow       the longest enumerations, left out of make test"
	@echo "make blocks     write the console blocks of README.md and docs/ anew; read what changed"
	@echo "make docs       the documentation as a site in docs/_build/html, offline"
	@echo "make lint       ruff and mypy --strict"
	@echo "make bench      speed, as ratios measured in one run"
	@echo "make fuzz       the agreement tests at large scale (ARGS=... of moves, PROGRAMS=... of programs, WRITTEN=... of all kinds, SIZES=... with symbols, LIMITS=... of proofs)"
	@echo "make fuzz-pto   random kernels and planted faults against the byte-wise interpreter, about 40 minutes"
	@echo "make planted-rust  720 faults of eighteen kinds in kernels: refuted for the reason planted, one minute"
	@echo "make fuzz-idma  mutants of iDMA texts in every form, texts read back, drawn C drivers against gcc, pairs of them"
	@echo "make fuzz-synth what synth says, on drawn moves of every machine and all examples (ARGS='--moves 400 --seed 1')"
	@echo "make fuzz-inputs  mutated inputs of every kind, ten minutes (ARGS='--seconds 60 --seed 2')"
	@echo "make mutants    faults put into what proves, one at a time; the tests must notice each (MUTANTS=... names)"
	@echo "make agree      closed form against simulator on 10,000 random and adversarial programs"
	@echo "make rewritings 10,000 programs and the same requests in other loops: no price may differ"
	@echo "make coq        the theorems behind certificates, and the examples by them (needs coqc; Debian: apt install coq)"
	@echo "make calibrate  fit the cost profiles to the sample data; errors, rows, bands"
	@echo "make wheel      build dist/*.whl"
	@echo "make clean      remove caches and build output; the virtual environment stays"

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "needs Python 3.11 or newer with venv and ensurepip" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

venv: $(STAMP)

demo: $(STAMP)
	$(BIN)/dmaverify check examples --format concise
	$(BIN)/dmaverify check $(DEMO) --verbose
	$(BIN)/dmaverify derive examples/sequencer/rearranging-axes.toml --explain
	$(BIN)/dmaverify run $(DEMO)
	$(BIN)/dmaverify explain rngd/dm-write-align
	$(BIN)/dmaverify check examples/broken.toml

test: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST) $(ARGS)

slow: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST) -m slow $(ARGS)

blocks: $(STAMP)
	$(BIN)/python tests/docs/test_docs.py
	PYTHONPATH=tests $(BIN)/python tests/examples/test_examples.py

docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(STAMP)
	$(BIN)/python tests/bench/run.py $(ARGS)
	$(BIN)/python tests/bench/programs.py
	$(BIN)/python tests/bench/pto_kernel.py

fuzz: $(STAMP)
	$(BIN)/python tests/fuzz/run.py $(ARGS)
	$(BIN)/python tests/fuzz/programs.py $(PROGRAMS)
	$(BIN)/python tests/fuzz/checker.py
	$(BIN)/python tests/fuzz/written.py $(WRITTEN)
	$(BIN)/python tests/fuzz/written.py $(WRITTEN) --solver
	$(BIN)/python tests/fuzz/unrolled.py
	$(BIN)/python tests/fuzz/tiled_programs.py
	$(BIN)/python tests/fuzz/contents.py
	$(BIN)/python tests/fuzz/paired.py --count 2000
	$(BIN)/python tests/fuzz/kernel_pairs.py --count 500
	$(BIN)/python tests/fuzz/blind.py
	$(BIN)/python tests/fuzz/rust_tiles.py
	$(BIN)/python tests/fuzz/rust_tiles.py --ways
	$(BIN)/python tests/fuzz/sizes.py $(SIZES)
	$(BIN)/python tests/fuzz/sizes.py $(SIZES) --edges
	$(BIN)/python tests/fuzz/sizes.py $(SIZES) --loops
	$(BIN)/python tests/fuzz/sizes.py $(SIZES) --places
	$(BIN)/python tests/fuzz/sizes.py $(SIZES) --alone
	$(BIN)/python tests/fuzz/size_mutants.py
	$(BIN)/python tests/fuzz/size_guards.py
	$(BIN)/python tests/fuzz/limits.py $(LIMITS)

fuzz-inputs: $(STAMP)
	$(BIN)/python tests/fuzz/inputs.py --keep $(ARGS)
	$(BIN)/python tests/fuzz/preconditions.py

fuzz-synth: $(STAMP)
	$(BIN)/python tests/fuzz/synthesis.py $(ARGS)

mutants: $(STAMP)
	$(BIN)/python tests/mutants/run.py $(MUTANTS)

COQ := build/coq

coq: $(STAMP)
	mkdir -p $(COQ)
	cp proofs/coq/Move.v proofs/coq/Printed.v $(COQ)
	$(BIN)/python proofs/coq/export.py examples/first.toml examples/dma-engine/*.toml examples/sequencer/*.toml > $(COQ)/Examples.v
	cd $(COQ) && coqc -Q . Dmaverify Move.v && coqc -Q . Dmaverify Printed.v && coqc -Q . Dmaverify Examples.v
	@echo "$$(grep -c ^Theorem $(COQ)/Examples.v) examples are accepted, and what is accepted holds the tensor"

# Random kernels and their mutants, vector work, two cores and narrow integers, against the byte-wise interpreter.
fuzz-pto: $(STAMP)
	$(BIN)/python tests/pto/campaign.py --kernels 20000 $(ARGS)
	$(BIN)/python tests/pto/campaign.py --tiles --kernels 20000 $(ARGS)
	$(BIN)/python tests/pto/campaign.py --loops --kernels 1000 $(ARGS)
	$(BIN)/python tests/pto/planted.py --each 40

planted-rust: $(STAMP)
	$(BIN)/python tests/rust/planted.py --each 40

fuzz-idma: $(STAMP)
	$(BIN)/python tests/fuzz/idma.py mutants 2000
	$(BIN)/python tests/fuzz/idma.py emit 10000
	$(BIN)/python tests/fuzz/idma.py drivers 10000
	$(BIN)/python tests/fuzz/idma.py arguments 1000
	$(BIN)/python tests/fuzz/idma.py looped 1000
	$(BIN)/python tests/fuzz/c_drivers.py 1000
	$(BIN)/python tests/fuzz/driver_pairs.py --count 500

agree: $(STAMP)
	$(BIN)/python tests/bench/agree.py $(ARGS)

rewritings: $(STAMP)
	$(BIN)/python tests/bench/rewritings.py $(ARGS)

calibrate: $(STAMP)
	$(BIN)/python tests/bench/calibrate.py $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

wheel: $(STAMP)
	$(BIN)/python -m hatchling build -t wheel

clean:
	rm -rf dist build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .dmaverify_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +
