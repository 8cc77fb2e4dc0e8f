# Each target sets up its own virtual environment (.venv) when it is missing.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DOCS := .venv/.docs

.PHONY: run run-service test soak check docs format bench performance names golden outputs check-all clean

run: .venv/.plots        ## learn a drifting stream: progress, a table, a picture, a page
	$(BIN)/thalweg demo

run-service: .venv/.serve   ## a service, fed with a drifting stream by its own interface; stop with Ctrl-C
	$(BIN)/thalweg serve "arf(size=10)" --shadow hoeffding-tree --budget 0.3 --folder .service --feed 200

test: $(STAMP)           ## all tests
	$(BIN)/python -m pytest -n auto tests

soak: $(STAMP)           ## what tests do for minutes, for hours: changed files, fuzzed calls, kills, threads, endurance
	cd tests && ../$(BIN)/python -W ignore -m soak.mutations --each 2000
	cd tests && ../$(BIN)/python -m soak.verbs --calls 20000
	cd tests && ../$(BIN)/python -m soak.kills --kills 500
	cd tests && ../$(BIN)/python -m soak.serve_kills --kills 300
	cd tests && ../$(BIN)/python -m soak.broker_kills --kills 100
	cd tests && ../$(BIN)/python -m soak.serve_endurance --minutes 20
	cd tests && ../$(BIN)/python -m soak.threads --seconds 20
	cd tests && ../$(BIN)/python -m soak.endurance --rows 100000000

check: $(STAMP)          ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-all: .venv/bin/python   ## the wide check: all Pythons, oldest dependencies, no extras, coverage (ONLY=bare: one)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python scripts/check_all.py $(ONLY)

docs: $(DOCS)            ## the documentation, into site/: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

outputs: $(STAMP)        ## run the examples of all pages, write what they print below them
	PYTHONPATH=tests:website $(BIN)/python website/outputs.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

names: $(STAMP)          ## what type checkers know about the public names, from the registry
	$(BIN)/python -m thalweg.registry.stub

golden: $(STAMP)         ## play every learner, show what differs from tests/golden (WRITE=--write: keep it)
	cd tests && ../$(BIN)/python -m golden.make $(WRITE)

bench: .venv-bench/.installed   ## speed and accuracy side by side with river and CapyMOA
	.venv-bench/bin/python benchmarks/side_by_side.py

performance: .venv-bench/.installed   ## every learner beside theirs: writes docs/performance.md
	.venv-bench/bin/python benchmarks/all.py

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.plots: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	touch $@

.venv/.serve: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[serve]'
	touch $@

$(DOCS): pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(STAMP): pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

.venv-bench/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade pip
	.venv-bench/bin/python -m pip install --quiet --editable '.[bench,plots]'
	touch $@

clean:
	rm -rf site .venv .venv-bench .venv-check .mypy_cache .ruff_cache .pytest_cache
