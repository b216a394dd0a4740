# make demo    set up, then crawl the demo site and show what was found
# make test    set up, then run all tests
# make lint    set up, then check style and types
# make mutants set up, then count the mistakes in a sample of the sources that the tests notice
# PYTHON=python3.12 make test   with another Python (in a folder of its own)

PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := .venv/$(VERSION)
BIN := $(VENV)/bin

.PHONY: demo test lint mutants clean

demo: $(VENV)/demo.done
	$(BIN)/python example_project/demo.py

test: $(VENV)/test.done
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/test.done $(VENV)/lint.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

mutants: $(VENV)/test.done
	nice -n 19 $(BIN)/python tests/mutants.py $(MUTANTS)

SOURCES := setup.cfg setup.py pyproject.toml $(wildcard scrapy_simhash/*/*.pyx scrapy_simhash/*/*/*.pyx scrapy_simhash/*/*.pxi scrapy_simhash/*/*.h)

$(VENV)/%.done: $(SOURCES) | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

$(VENV):
	$(PYTHON) -m venv $@

clean:
	rm -rf .venv build dist *.egg-info demo-output
