# Tools run in the current environment; `python bootstrap.py test` makes one and runs `make check`'s commands in it.
PYTHON ?= python
export OPENBLAS_NUM_THREADS ?= 1
# Hundreds of processes of the tests import the package: without stored bytecode each would compile it.
export PYTHONDONTWRITEBYTECODE =
# A test a core, a core with nothing left takes over tests of another; -n 0 is one after the other.
WORKERS ?= -n auto --maxprocesses 4 --dist worksteal

.PHONY: help core fmt format-check lint types imports test test-all test-pure studies coverage doctest check docs bench

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

core: ## compile the core again after a change of its sources
	$(PYTHON) -m tobitgp.compiled.compile

fmt: ## format, and fix what ruff can fix
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

format-check:
	$(PYTHON) -m ruff format --check .

lint: ## ruff
	$(PYTHON) -m ruff check .

types: ## mypy, strict
	$(PYTHON) -m mypy

imports: ## import contracts
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as main; main()"

test: ## quick tests and doctests
	$(PYTHON) -m pytest -q $(WORKERS)

test-all: ## slow tests too
	$(PYTHON) -m pytest -q $(WORKERS) -m "not study"

test-pure: ## quick tests of what the compiled core does, without it (conftest.py lists them)
	$(PYTHON) -m pytest -q $(WORKERS) --pure

studies: ## simulations, tables of pages and the rest of large products of cases, several hours on two cores
	$(PYTHON) -m pytest -q $(WORKERS) -m study

coverage: ## quick tests, and the lines they do not reach
	$(PYTHON) -m pytest -q $(WORKERS) --cov

doctest: ## examples in docstrings only
	$(PYTHON) -m pytest -q tobitgp

check: format-check lint types imports test-all test-pure ## everything a change must pass

docs: ## build the site into out/site, vignettes executed (TOBITGP_VIGNETTES=off leaves them as they are)
	$(PYTHON) -m sphinx -W --keep-going -E -j auto -c docs -d out/doctrees . out/site

bench: ## time tobitgp beside its peers (needs the bench dependency group)
	$(PYTHON) -m benchmarks
