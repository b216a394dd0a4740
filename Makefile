# make demo    set up what crawls need, then crawl the demo site and show what was found
# make test    set up, compile, then run the tests; PYTEST_ARGS=tests/index for some of them
# make test-long  set up, then run the tests that make test leaves out because they take long
# make test-spark  set up, then run the tests of batches on Spark, which need Java 17 or later
# make lint    set up, then check style and types
# make mutants set up, then count the mistakes in a sample of the sources that the tests notice
# make docs    set up, then build the documentation site in build/docs and check its links
# make oldest  set up with the oldest Scrapy of setup.cfg, then run some of the tests that crawl
# make wheels  build and test the sdist and a wheel for each Python at hand, in dist/
# make release-check  build, and do what a stranger does first, from the wheel and the sdist
# PYTHON=python3.12 make test   with another Python (in a folder of its own)

PYTHON ?= python3
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := .venv/$(VERSION)
BIN := $(VENV)/bin
# A process for each core, which takes over tests of another when it has none left.
PYTEST = $(BIN)/python -m pytest -n logical --dist worksteal

# Python compiles a file when it is first imported; most files of the packages never are.
export PIP_COMPILE := 0
# Tests start hundreds of processes, each of which would compile what it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-long test-spark lint mutants docs oldest environments wheels release-check clean

demo: $(VENV)/demo.done
	$(BIN)/python example_project/demo.py

test: $(VENV)/test.done
	$(PYTEST) $(PYTEST_ARGS)

test-long: $(VENV)/test.done
	$(PYTEST) -m long $(PYTEST_ARGS)

# One session for all of them.
test-spark: $(VENV)/test.done $(VENV)/spark.done
	$(BIN)/python -m pytest -m spark tests/spark $(PYTEST_ARGS)

lint: $(VENV)/test.done $(VENV)/lint.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

mutants: $(VENV)/test.done
	nice -n 19 $(BIN)/python tests/project/mutants.py $(MUTANTS)

# An environment of its own: none of these packages is needed to crawl or to test.
docs: .venv/docs/docs.done
	.venv/docs/bin/sphinx-build --fail-on-warning --keep-going --nitpicky --fresh-env docs build/docs
	.venv/docs/bin/python docs/check_site.py build/docs

oldest: .venv/oldest/oldest.done
	.venv/oldest/bin/python -m pytest -n logical tests/crawl/test_judging.py tests/crawl/test_redirects.py tests/crawl/test_resume.py

# All that lint and test-spark need: they have one environment, where only one may install.
environments: $(VENV)/test.done $(VENV)/spark.done $(VENV)/lint.done

wheels:
	nice -n 10 .ci/wheels

release-check:
	PYTHON=$(PYTHON) nice -n 10 .ci/release-check $(TAG)

SOURCES := setup.cfg setup.py pyproject.toml $(patsubst %.pxd,%.py,$(wildcard scrapy_simhash/*.pxd scrapy_simhash/*/*.pxd)) $(wildcard scrapy_simhash/*/*.pyx scrapy_simhash/*/*/*.pyx scrapy_simhash/*.pxd scrapy_simhash/*/*.px[di] scrapy_simhash/*/*.h)

# Compiling takes longer than all the rest: the twins in Python do for these.  What make test has
# compiled stays.
$(VENV)/demo.done $(VENV)/spark.done $(VENV)/lint.done: export SIMHASH_BUILD := pure
.venv/docs/docs.done .venv/oldest/oldest.done: export SIMHASH_BUILD := pure

$(VENV)/demo.done: $(SOURCES) | $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/%.done: $(SOURCES) | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

.venv/docs/docs.done: $(SOURCES)
	$(PYTHON) -m venv .venv/docs
	.venv/docs/bin/python -m pip install --quiet --editable '.[docs]'
	touch $@

.venv/oldest/oldest.done: $(SOURCES)
	$(PYTHON) -m venv .venv/oldest
	.venv/oldest/bin/python -m pip install --quiet --editable '.[test]' 'scrapy==2.14.*'
	touch $@

$(VENV):
	$(PYTHON) -m venv $@

clean:
	rm -rf .venv build dist *.egg-info demo-output
