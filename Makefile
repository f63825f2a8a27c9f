# What a person and CI do with this checkout; `make` alone lists it.
.DEFAULT_GOAL := help
PY := .venv/bin/python
UV := .tools/bin/uv
# Nothing here may fetch an interpreter: setup uses one that is installed.
export UV_PYTHON_DOWNLOADS := never

.PHONY: help setup weaviate check test test-llm bench demo dev clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Make .venv with the locked packages; quick if unchanged
	@scripts/setup

weaviate: setup ## Compile the Weaviate server for the tests; skipped without Go
	@scripts/weaviate

check: setup ## Lint, format, types, lock file, secrets
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(UV) lock --check
	$(PY) scripts/scan_secrets.py

test: setup ## Run the tests; T="tests/unit -k name" chooses some
	@scripts/test $(T)

test-llm: setup ## Run the tests that need a small real model, set up in .tools
	$(PY) -m benchmarks.real_model_server -- $(PY) -m pytest -m llm tests/llm $(T)

bench: setup ## Run the benchmarks; B="search" chooses one of benchmarks/
	@set -e; for name in $(or $(B),$(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))); do \
		echo "== $$name"; $(PY) -m benchmarks.$$name; done

demo: setup ## Build and query a sample index offline, in seconds
	.venv/bin/overstory demo

dev: setup ## Serve the Dagster UI for the index of this folder
	.venv/bin/overstory dev

clean: ## Remove caches and build output; keeps .venv and every index
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -path ./.tools -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
