# Each target sets up what it needs in .venv, once; it is set up anew when pyproject.toml or constraints.txt change.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup study test lint types docs bench mutants clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

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
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: $(READY) ## ruff: mistakes and layout
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

docs: $(READY) ## the documentation, into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY) ## speed, printed by each script of benchmarks/
	@set -e; for script in $(filter-out benchmarks/mutants.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script; done

mutants: $(READY) ## would the tests notice a mistake? a sample of 60: make mutants PARTS="information validation" SAMPLE=60 SEED=1
	$(BIN)/python benchmarks/mutants.py $(PARTS) --sample $(or $(SAMPLE),60) --seed $(or $(SEED),1)

clean: ## remove .venv and everything that was built
	rm -rf .venv build site .mypy_cache .ruff_cache .pytest_cache
