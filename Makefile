# Everything a person runs. Each target sets up what it needs first.
.DEFAULT_GOAL := help
BIN := .venv/bin
# The tests and the demo call cmake, ninja and clang-format: those of the environment, not the machine's older ones.
export PATH := $(CURDIR)/$(BIN):$(PATH)
PYTEST_ARGS ?=

.PHONY: help demo test lint golden bench torture clean

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | sort | awk -F: '{printf "  make %-9s%s\n", $$1, $$2}'

demo: ## Generate the mlu backend, build it on the simulated SDK, train on it
	@tools/setup.sh demo
	@$(BIN)/python demo/run.py

test: ## Run every test
	@tools/setup.sh test
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup $(PYTEST_ARGS)

lint: ## Run ruff and mypy
	@tools/setup.sh test
	@$(BIN)/ruff check . && $(BIN)/mypy

golden: ## Write generated/ and backends/ of the built-in vendors anew
	@tools/setup.sh test
	@$(BIN)/python tools/update_golden.py

bench: ## Measure fl-gen against its aims
	@tools/setup.sh test
	@$(BIN)/python benchmarks/run.py

torture: ## The long campaigns at full size
	@tools/setup.sh test
	@FL_GEN_TORTURE=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

clean: ## Remove build results
	@rm -rf build .venv
