# Everything runs in an environment of its own, .venv in this folder, and touches no other Python.
# It needs a Python of at least 3.10 and a C++20 compiler; CMake and Ninja come from PyPI.
# An install happens when there is something to install: the package is installed in place, so an edit
# of Python code needs none, and an edit of native code rebuilds only what it changed.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# The first of these that is new enough, unless you say `make PYTHON=/path/to/python ...`.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$name && break; done)

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
BUILD_TOOLS := 'scikit-build-core>=0.10' 'nanobind>=2.4' cmake ninja

# What an install depends on: the native code and the list, not the contents, of the Python files.
NATIVE_CODE := $(wildcard native/*.* native/*/* src/symseek/engines/shared/*)
NATIVE := pyproject.toml CMakeLists.txt $(NATIVE_CODE)
MODULES := $(shell find src -name '*.py*' -not -name '*.pyc' | sort | cksum | cut -d' ' -f1)
installed = .venv/installed-$(1)-$(MODULES)

.PHONY: help
help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

.PHONY: demo
demo: $(call installed,base) ## install, then go from tables to formulas before your eyes
	@$(BIN)/python examples/demo.py

# The tests start hundreds of processes, each of which would compile every module again.
.PHONY: test
test: $(call installed,test) ## install, then run the tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto $(WHICH) $(PYTEST_ARGS)

.PHONY: test-all
test-all: export HYPOTHESIS_PROFILE ?= thorough
test-all: WHICH := -m 'slow or not slow'
test-all: test ## the same with the tests that take long, and with all examples of property tests

.PHONY: lint
lint: $(call installed,test) $(call installed,lint) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(NATIVE_CODE)

.PHONY: bench
bench: $(call installed,bench) ## speed, side by side with pyoperon and NumPy
	$(BIN)/python benchmarks/evaluate.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/constants.py

.PHONY: sanitize
sanitize: sanitize-memory sanitize-threads ## the tests on sanitizer builds

.PHONY: clean
clean: ## remove the environment and everything built
	rm -rf .venv build

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo 'No Python of at least 3.10 found: install one, or say `make PYTHON=...`.'; exit 1; }
	@echo "Creating .venv with $(PYTHON) ($$($(PYTHON) --version))"
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo 'Could not create an environment: is the venv module there (Debian: python3-venv)?'; exit 1; }

.venv/tools: Makefile | .venv/bin/python
	@$(PIP) install $(BUILD_TOOLS)
	@touch $@

# `base` is the package alone; any other name is one of its extras.
.venv/installed-%-$(MODULES): $(NATIVE) | .venv/tools
	@echo 'Installing symseek ($*)'
	@$(PIP) install --no-build-isolation --editable '.$(if $(filter base,$*),,[$*])'
	@rm -f .venv/installed-$*-*
	@touch $@

# A sanitizer build has an environment of its own, which borrows the installed dependencies. Its
# runtime must be loaded before Python's. Python itself leaks a little at exit, so leaks are off.
TESTS_memory := tests/test_sampling.py tests/test_search.py tests/test_evaluation.py tests/test_constants.py \
	tests/test_breeding.py tests/test_pairing.py tests/test_evolution.py tests/test_native.py tests/test_derivatives.py \
	tests/test_checks.py tests/test_underflow.py tests/test_variable_projection.py tests/test_losses.py tests/test_groups.py \
	tests/test_units_in_search.py
TESTS_threads := tests/test_search.py tests/test_evaluation.py tests/test_constants.py tests/test_breeding.py \
	tests/test_pairing.py tests/test_evolution.py tests/test_native.py tests/test_units_in_search.py
SANITIZERS_memory := address,undefined
SANITIZERS_threads := thread
RUNTIME_memory := libasan.so
RUNTIME_threads := libtsan.so
CXX ?= g++

.PHONY: sanitize-memory sanitize-threads
sanitize-memory sanitize-threads: sanitize-%: $(call installed,test)
	$(BIN)/python -m venv --without-pip build/sanitize/$*
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$(build/sanitize/$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --python build/sanitize/$* install --no-build-isolation \
		--no-deps --force-reinstall -C build-dir=build/sanitize/$*-objects \
		-C cmake.define.SYMSEEK_SANITIZE=$(SANITIZERS_$*) .
	LD_PRELOAD="$$($(CXX) -print-file-name=$(RUNTIME_$*)) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 build/sanitize/$*/bin/python -m pytest --capture=sys $(TESTS_$*) $(PYTEST_ARGS)
