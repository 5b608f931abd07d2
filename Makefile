# Every task of the project. A fresh clone needs python3 >= 3.11 and nothing else:
# the first task that needs the environment makes .venv from requirements-lock.txt; the demo needs only its own part.

SHELL := /bin/bash
unexport PYTHONDONTWRITEBYTECODE # hundreds of tests start an interpreter, and each would compile the package anew
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo
SITE := .venv-site
SITE_READY := $(SITE)/.ready
PACKAGER := .venv-package

# temporary files of the quick tests: in memory, where it has room, because they wait for a disk half of their time
SCRATCH := $(shell if [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'END { print $$4 }')" -gt 8000000 ]; then \
	echo /dev/shm; else echo $${TMPDIR:-/tmp}; fi)

.DEFAULT_GOAL := help
.PHONY: help demo test proof deletable check grammar grammar-check format lint types docs docs-check site site-serve lock bench clean

help: ## list the tasks
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | awk -F '\t' '{printf "  make %-14s %s\n", $$1, $$2}'

$(READY): requirements-lock.txt pyproject.toml
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@tools/install $(RUN) -r requirements-lock.txt
	@tools/install $(RUN) --no-deps -e .
	@touch $@

$(DEMO): requirements-lock.txt pyproject.toml
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	@test -e $(READY) || tools/install $(RUN) --constraint requirements-lock.txt -e .
	@touch $@

demo: $(DEMO) ## compile a sample to a store, and show errors that teach
	@$(RUN) samples/demo.py

test: $(READY) ## the quick tests (about two minutes)
	@TMPDIR=$(SCRATCH) $(RUN) -m pytest -m "not slow and not long" -n auto --dist worksteal

.PHONY: scratch
scratch: # name the folder for temporary files
	@echo $(SCRATCH)

proof: $(READY) ## everything: exactness, fuzzing, peers, load
	@NCZARR_RANDOM=1 $(RUN) -m pytest -n auto

deletable: $(READY) ## remove each plugin in turn: everything else imports and works (WITHOUT=NAME: that one alone)
	@$(RUN) -m pytest tests/plugins/test_plugin_index.py
	@TMPDIR=$(SCRATCH) $(RUN) tools/deletable.py $(WITHOUT)

check: format-check lint types grammar-check docs-check test ## everything that must be green before a commit

.PHONY: format-check
format-check: $(READY)
	@$(RUN) -m ruff format --check .

grammar: $(READY) ## regenerate the parsers from their grammars, **/grammars/*.g4 (needs Java)
	@$(RUN) grammar/generate.py

grammar-check: $(READY) ## are the committed parsers current? (needs Java)
	@$(RUN) grammar/generate.py --check

format: $(READY) ## format the code
	@$(RUN) -m ruff format .

lint: $(READY) ## ruff
	@$(RUN) -m ruff check .

types: $(READY) ## mypy --strict
	@$(RUN) -m mypy

docs: $(READY) ## regenerate the tables and pages that the code makes
	@$(RUN) docs/_tools/generate.py

.PHONY: editors
editors: $(READY) ## write the syntax files of editors from the words of the package
	@$(RUN) tools/editors.py

.PHONY: extension
extension: editors ## build the extension of VS Code (needs Node.js)
	@cd editors/vscode && npm install --no-audit --no-fund && npm run package

docs-check: $(READY) ## are the generated pages current?
	@$(RUN) docs/_tools/generate.py --check

$(SITE_READY): pyproject.toml
	@test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	@tools/install $(SITE)/bin/python -e '.[docs]'
	@touch $@

site: $(SITE_READY) ## build the documentation site into site/; any broken link fails
	@$(SITE)/bin/python docs/_tools/playground/build.py build/playground
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict

site-serve: $(SITE_READY) ## show the documentation site at http://127.0.0.1:8001/
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs serve --dev-addr 127.0.0.1:8001

.PHONY: man completions package package-check release-check
man: $(READY) ## write the man pages to build/man
	@$(RUN) tools/man.py build/man

completions: $(READY) ## write completion scripts for bash, zsh and tcsh to build/completions
	@mkdir -p build/completions
	@for shell in bash zsh tcsh; do $(RUN) -m nczarr completion $$shell >build/completions/nczarr.$$shell || exit 1; done

$(PACKAGER)/.ready:
	@$(PYTHON) -m venv $(PACKAGER)
	@tools/install $(PACKAGER)/bin/python 'build==1.6.1' 'twine==7.0.0' 'setuptools>=77'
	@touch $@

package: $(PACKAGER)/.ready ## build the wheel and the source archive in dist/, and check their metadata
	@rm -rf dist build/lib build/bdist.*
	@$(PACKAGER)/bin/python -m build --no-isolation --outdir dist . >/dev/null
	@$(PACKAGER)/bin/python -m twine check --strict dist/*

package-check: $(READY) package ## try every command of the wheel with the base dependencies alone
	@$(RUN) tools/package_check.py dist/*.whl

release-check: ## is TAG (v1.2.0) the version of the package, with a date in the changelog?
	@test "$(TAG)" = "v$$(sed -n 's/^__version__ = "\(.*\)"$$/\1/p' nczarr/__init__.py)" || \
	  { echo "TAG is $(TAG), and nczarr/__init__.py has another version"; exit 1; }
	@grep -qE '^## \[$(TAG:v%=%)\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$$' CHANGELOG.md || \
	  { echo "CHANGELOG.md has no dated section [$(TAG:v%=%)]"; exit 1; }

bench: $(READY) ## the rows of benchmarks/, small sizes
	@benchmarks/run --quick

.PHONY: bench-report
bench-report: $(READY) ## write the table of benchmarks/README.md from results.json, with marks at rows older than the code
	@$(RUN) benchmarks/report.py

.PHONY: compare
compare: $(READY) ## how many netCDF files come back unchanged from a store, by nczarr, nccopy and xarray (a few minutes)
	@$(RUN) tools/compare.py

lock: $(READY) ## write requirements-lock.txt anew, for every Python from 3.11.0 on
	@tools/lock $(RUN) > requirements-lock.new && mv requirements-lock.new requirements-lock.txt

clean: ## remove the environment and caches
	@rm -rf $(VENV) $(SITE) $(PACKAGER) site build dist .venv-awkward0 .venv-newest .venv-virtualizarr .venv-cf .venv-cfa .venv-nwb .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
