# Each target sets up what it needs in .venv, once; it is set up anew when pyproject.toml or constraints.txt change.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
BIN := .venv/bin
READY := .venv/.ready

# tests of seconds, from measured durations; all others train networks, start servers or draw many simulations
QUICK := tests/tasks tests/data $(addprefix tests/,contracts/test_shape_of_the_code.py exact/test_estimate.py networks/test_heads.py \
  networks/test_encoders.py report/test_figures.py search/test_baseline.py search/test_climb.py search/test_surrogate.py server/test_plan.py \
  validation/test_words.py test_behavior.py test_benchmarks.py test_display.py test_files.py test_journal.py test_layers.py test_parts.py \
  test_posterior.py test_priors.py test_progress.py test_question.py test_study.py)

# benchmarks that need no arguments; the others are run by name
ALONE := agents checks engine exact examples growth machines optimizers paper server simulators standard_errors tightness

.DEFAULT_GOAL := help
.PHONY: help setup study test quick lint types docs notebooks wheel bench mutants clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## everything that the other targets need, in .venv

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tellapart needs Python 3.11 or newer; set it with: make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	@touch $@

study: $(READY) ## find the design that best tells three theories apart, and write the report
	$(BIN)/tellapart design examples/bandit
	$(BIN)/tellapart report examples/bandit

test: $(READY) ## all tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

quick: $(READY) ## the quick tests, for the loop while writing: about a minute on 2 cores
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile $(QUICK)

lint: $(READY) ## ruff: mistakes and layout
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

docs: $(READY) ## the documentation, into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(READY) ## run the notebooks, and write what they show into them
	$(BIN)/python notebooks/make.py

wheel: $(READY) ## build the wheel, install it into a new environment, and try it there; some minutes
	$(BIN)/python -m pytest -s -m slow tests/test_wheel.py

bench: $(READY) ## what there is to measure, and how long it takes; one of them: make bench NAME=engine ARGS="aeg"
ifdef NAME
	$(BIN)/python benchmarks/$(NAME).py $(ARGS)
else ifdef ALL
	@set -e; for name in $(ALONE); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py; done
else
	@$(BIN)/python benchmarks/takes.py
endif

mutants: $(READY) ## would the tests notice a mistake? a sample of 60: make mutants PARTS="information validation" SAMPLE=60 SEED=1
	$(BIN)/python benchmarks/mutants.py $(PARTS) --sample $(or $(SAMPLE),60) --seed $(or $(SEED),1)

clean: ## remove .venv and everything that was built
	rm -rf .venv build site .mypy_cache .ruff_cache .pytest_cache
