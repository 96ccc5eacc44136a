# What one does here: make demo, make test, make check. Everything is installed into .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PARALLEL ?= -n auto --maxprocesses 8 --dist worksteal
.DEFAULT_GOAL := help

.PHONY: help demo test slow check format clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo,dev]'
	touch $@

demo: $(VENV)/installed ## train on CMUdict for five minutes, evaluate, ask, look inside
	$(BIN)/dragoman demo

test: $(VENV)/installed ## run the tests that take minutes
	$(BIN)/python -m pytest $(PARALLEL)

slow: $(VENV)/installed ## run the tests that take longer
	$(BIN)/python -m pytest $(PARALLEL) -m slow

check: $(VENV)/installed ## check format, lint and types (make format mends)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/installed ## put the code into its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
