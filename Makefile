PYTHON ?= python3
VENV   ?= .venv
CORES  ?= auto
BIN    := $(VENV)/bin
INSTALL ?= $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Else processes that tests start would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo install test test-all installations lint types format docs kills parity coverage notebooks reference bench servers release clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# A stamp, so that a second `make test` does not install again.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -c constraints.txt -e '.[dev]'
	$(INSTALL) -c constraints.txt --no-deps crewai-tools  # and no crewai
	touch $@

$(VENV)/.demo-installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -c constraints.txt -e .
	touch $@

install: $(VENV)/.installed  ## create the virtual environment for the tests

demo: $(VENV)/.demo-installed  ## run a crew on a real file: make demo [FILE=path/to/text-or-csv]
	$(BIN)/python examples/demo.py $(if $(FILE),"$(FILE)")

test: $(VENV)/.installed  ## run the tests (minutes)
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal $(ARGS)

test-all: export ALL = 1
test-all: test  ## run the tests in all of their modes, with more random examples and more kills

installations:  ## install each page's packages in an empty environment and run a program there: make installations [ARGS=mcp] (minutes)
	$(PYTHON) .ci/installations.py $(ARGS)

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.installed  ## build the documentation site in build/site
	$(BIN)/python -m mkdocs build --strict

lint: $(VENV)/.installed  ## ruff and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files '*.md' | xargs $(BIN)/ruff format --check --line-length 84
	PYTHONPATH=compat $(BIN)/lint-imports --no-cache

types: $(VENV)/.installed  ## pyright, strict
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.installed  ## format the code
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	git ls-files '*.md' | xargs $(BIN)/ruff format --line-length 84

kills: $(VENV)/.installed  ## run the whole kill matrix, kill writers of a store 1,000 times, test a queue (minutes), and write the tables; INLINE=0 runs it with LangGraph's own loop
	PYTHONPATH=tests:compat KILLS_INLINE=$(INLINE) $(BIN)/python -m kills.matrix
	PYTHONPATH=tests:compat $(BIN)/python -m storage.store.kills
	PYTHONPATH=tests:compat $(BIN)/python -m kills.ends
	PYTHONPATH=tests:compat $(BIN)/python -m queues.stress

parity: $(VENV)/.installed  ## run programs on both CrewAIs and here, and compare: tests/parity/results.md (many minutes)
	PYTHONPATH=tests:compat:. $(BIN)/python -m parity.record $(ARGS)

coverage: $(VENV)/.installed  ## count how much of CrewAI's public API is provided: docs/reference/coverage.md
	PYTHONPATH=tests:compat:. $(BIN)/python -m surface.coverage --write

servers: $(VENV)/.installed  ## try crews and flows on langgraph dev, langhost and Aegra, each in its own environment (minutes)
	PYTHONPATH=tests:compat:. $(BIN)/python -m served.others $(ARGS)

notebooks: $(VENV)/.installed  ## run the notebooks and save their outputs: make notebooks [ARGS=first_crew]
	PYTHONPATH=tests:compat:. $(BIN)/python -m docs.notebooks $(ARGS)

reference: $(VENV)/.installed  ## generate the command line page from the commands' help
	$(BIN)/python docs/site/command_line.py

release:  ## say everywhere that crewgraph is on a package index: make release SITE=https://... REPOSITORY=https://...
	$(PYTHON) .ci/release.py $(SITE) $(REPOSITORY)

bench: $(VENV)/.installed  ## run the benchmarks, each peer in its own environment
	$(BIN)/python -m benchmarks.run

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache
