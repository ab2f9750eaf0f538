# `make demo` and `make test` set everything up themselves.
SHELL := /bin/sh
PYTHON ?= python3
PORT ?= 8000
export PORT
BIN := .venv/bin
# Modules are compiled on import: most installed ones are never imported. The pinned
# lists are complete, so dependencies need no resolution.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps
WEB := .venv/web.stamp
# Everything except torch, which is most of what is installed: enough for `make lint`.
TOOLS := .venv/tools.stamp
TORCH := .venv/torch.stamp
OF_TORCH := ^(torch|triton|nvidia-[a-z0-9-]+)==
FULL := $(TOOLS) $(TORCH)
DOCS := .venv/docs.stamp
# The Chinese catalogues of pages and of reports; `make messages` collects new texts.
PO := annotate/locale/zh_Hans/LC_MESSAGES/django.po analysis/report/locale/zh_Hans/LC_MESSAGES/report.po
MO := $(PO:.po=.mo)
# Django templates of pages, and Jinja templates of the report.
PAGES := templates annotate/kinds
REPORT := analysis/report/templates

# The tests start hundreds of Python processes, which need compiled files.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest
SPREAD := -n auto --dist worksteal
# A browser waits half of its time, so two processors can run three.
SPREAD_OF_BROWSERS := -n 3 --dist worksteal
ON_POSTGRESQL := $(BIN)/python -m tests.with_postgres $(PYTEST) $(SPREAD)
# Tests of metrics load torch, for which the processes of the others need not wait.
NETWORKS := tests/evalcore/metrics evalcore/metrics
WITHOUT_NETWORKS := tests analysis evalcore/formats plumbline --ignore=tests/evalcore/metrics
# Tests that use a database.
STORED := tests/annotate tests/evalcore --ignore=tests/evalcore/metrics
# Browser tests run in separate processes: after thousands of tests one becomes slow.
BROWSER := $$(grep -rlE --include='test_*.py' 'mark\.browser' tests)

# What `make wheel` and the image are built from, besides the built documentation.
SHIPPED := analysis annotate evalcore fixtures plumbline templates deploy pyproject.toml setup.py README.md LICENSE

.DEFAULT_GOAL := help
.PHONY: help setup torch tools demo run metrics check test test-quick test-metrics test-browser test-postgresql test-all lint rules types format messages bench wheel docs requirements clean

help:          ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 14

setup: $(FULL) ## install everything, including the metric stack and test tools

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Plumbline needs Python 3.11 or newer; name one with make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv

$(WEB): $(BIN)/python requirements-web.txt
	$(PIP) -r requirements-web.txt
	@touch "$@"

# Both can run at the same time.
torch: $(TORCH)
tools: $(TOOLS) $(MO)

$(TORCH): $(BIN)/python requirements.txt
	grep -E '$(OF_TORCH)' requirements.txt | $(PIP) -r /dev/stdin
	@touch "$@"

$(TOOLS): $(WEB) requirements.txt requirements-proxies.txt
	grep -vE '$(OF_TORCH)' requirements.txt | $(PIP) -r /dev/stdin
	$(PIP) -r requirements-proxies.txt
	@touch "$@"

# A server builds its documentation without the metric stack.
$(DOCS): $(WEB) requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.txt sphinx myst-parser furo
	@touch "$@"

$(MO): $(PO) $(WEB)
	$(BIN)/python -m annotate.translation --compile-only

messages: $(WEB) ## collect new texts of pages and reports for translation
	$(BIN)/python -m annotate.translation

# exec lets a signal to make's shell reach Plumbline.
demo: $(MO)   ## serve demo studies on http://127.0.0.1:$PORT
	exec $(BIN)/python manage.py demo

run: $(MO)    ## serve your own data on http://127.0.0.1:$PORT
	exec $(BIN)/python manage.py serve

metrics: $(FULL) ## install the packages of learned metrics and list the metrics
	$(BIN)/python manage.py metrics

check: lint $(MO) ## lint, then run the quick tests of changed code
	$(BIN)/python -m tests.reached $(SPREAD)

# With --jobs=2 other tests compute while browsers wait.
ifdef ARGS
test: $(FULL) $(MO)
	$(PYTEST) $(ARGS)
else
test: test-quick test-browser test-metrics test-postgresql ## run all tests except slow ones; ARGS are passed to pytest
endif

test-quick: $(FULL) $(MO)
	$(PYTEST) $(SPREAD) -m "not browser and not slow" $(WITHOUT_NETWORKS)

test-metrics: $(FULL) $(MO)
	$(PYTEST) -m "not browser and not slow" $(NETWORKS)

test-browser: $(FULL) $(MO)
	$(PYTEST) $(SPREAD_OF_BROWSERS) -m "browser and not slow" $(BROWSER)

test-postgresql: $(FULL) $(MO)
	$(ON_POSTGRESQL) -m "postgresql and not slow" $$(grep -rl --include='test_*.py' mark.postgresql tests)

test-all: $(FULL) $(MO) ## run every test, on both databases, before a release
	$(PYTEST) $(SPREAD) --hypothesis-profile=thorough -m "not browser"
	$(PYTEST) $(SPREAD_OF_BROWSERS) -m browser $(BROWSER)
	$(ON_POSTGRESQL) -m "not browser" $(STORED)

lint: rules types ## check formatting, rules, dead code, imports, types and migrations

rules: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tests.plain_words
	$(BIN)/djangofmt --check $(PAGES)
	$(BIN)/djangofmt --check --profile jinja $(REPORT)
	$(BIN)/djangofmt check $(PAGES)
	$(BIN)/djangofmt check --profile jinja $(REPORT)
	$(BIN)/vulture
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run

types: $(TOOLS)
	$(BIN)/mypy

format: $(FULL) ## rewrite code and templates in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djangofmt check --fix $(PAGES)
	$(BIN)/djangofmt check --fix --profile jinja $(REPORT)
	$(BIN)/djangofmt $(PAGES)
	$(BIN)/djangofmt --profile jinja $(REPORT)

bench: $(FULL) ## time statistics and assignment plans (takes minutes)
	$(BIN)/python benchmarks/speed.py

# The build leaves files behind, so it runs in a copy. Nothing is fetched for it.
wheel: $(TOOLS) ## build what pip installs into dist/: the server, and the library alone
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	cp -R $(SHIPPED) "$$copy/"; mkdir -p "$$copy/docs"; cp LICENSE "$$copy/analysis/"; \
	if [ -d docs/_build/html ]; then mkdir "$$copy/docs/_build"; cp -R docs/_build/html "$$copy/docs/_build/"; fi; \
	git rev-parse HEAD > "$$copy/analysis/.commit" || true; \
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index \
	  --wheel-dir dist "$$copy/analysis" "$$copy"; ls dist/*.whl

docs: $(DOCS)  ## build the documentation into docs/_build, which the product serves at /docs/
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d docs/_build/doctrees docs docs/_build/html

EXTRAS := metrics dev s3 oidc hub mlflow wandb
requirements: $(FULL) ## resolve pyproject.toml into the two pinned lists
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --no-annotate --no-header --no-emit-package plumbline-analysis -q -o requirements-web.txt
	$(BIN)/uv pip compile pyproject.toml $(addprefix --extra ,$(EXTRAS)) --universal --python-version 3.11 --no-annotate --no-header --no-emit-package plumbline-analysis -q -o requirements.txt

clean:         ## remove the environment; data in var/ stays
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
