# Two commands do everything on a fresh machine with Python 3.11 and pip: `make demo` and `make test`.
PYTHON ?= python3.11
TORCH ?= torch==2.13.0
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
SOAK ?= 300
FUZZ ?= 600
PYTHONS ?= python3.11 python3.12 python3.13

.PHONY: demo test diagnosis opinfo test-reference soak ulp fuzz cpython-tests lint types check clean

demo: $(VENV)/.installed
	$(BIN)/pellucid demo

test: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests

diagnosis: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.diagnosis.planted

opinfo: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.opinfo.run --jobs $(JOBS) --docs docs/operators.md

ulp: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/ulp.py --write docs/ulp.md

test-reference: $(VENV)/.installed
	OMP_NUM_THREADS=1 PELLUCID_RUNNER=reference $(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests

soak: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/soak.py --seconds $(SOAK)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/soak.py --seconds $(SOAK) --unlocked
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/lifetimes.py

fuzz: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.capture.fuzz.run --seconds $(FUZZ)

cpython-tests: $(VENV)/.installed
	$(BIN)/python benchmarks/cpython_tests.py --docs docs/cpython-tests.md --pythons $(PYTHONS)

lint: $(VENV)/.installed
	$(BIN)/ruff check src tests benchmarks

types: $(VENV)/.installed
	$(BIN)/mypy

check: lint types test

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q '$(TORCH)'
	$(BIN)/pip install -q -e '.[dev]'
	$(BIN)/python -m compileall -q src
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis build
