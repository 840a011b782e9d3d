# Everything tileport needs is installed into .venv, from the package registries alone.
#
#   make tui                      the live session on ops/mla_decode.py
#   make tui OP=path/to/op.py     ... on another operator
#   make test                     the tests of every run
#   make lint                     format, lint, types, layers, Rust formatting and clippy
#   make long                     the long tiers: whole corpora, all mutants (results are committed)
#   make clean                    removes .venv and what was built

SHELL := /bin/bash
.DELETE_ON_ERROR:

OP ?= ops/mla_decode.py
VENV ?= .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
# The first interpreter that is new enough; PYTHON=... overrides.
PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
TILEGYM := tilegym==1.5.1
NATIVE_SOURCES := $(wildcard ffi/Cargo.toml ffi/Cargo.lock ffi/native/*.toml ffi/native/*.py) \
	$(shell find ffi/native/src -name '*.rs' 2>/dev/null)

.PHONY: tui test lint long install clean
.DEFAULT_GOAL := tui

tui: install
	@$(BIN)/tileport-tui $(OP)

install: $(STAMPS)/native

$(STAMPS)/venv:
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed; install it, or say PYTHON=/path/to/python3" >&2; exit 2; }
	@command -v cargo >/dev/null || { echo "make: cargo (Rust 1.89 or newer) is needed to build the native helper; get it through rustup" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "make: a C compiler (cc) is needed; install gcc or clang" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/python: pyproject.toml $(STAMPS)/venv
	@echo "Installing tileport and its packages into $(VENV) (torch is large; about two minutes) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[native-build,dev]'
	@touch $@

$(STAMPS)/native: $(NATIVE_SOURCES) $(STAMPS)/python
	@echo "Building the native helper (about two minutes the first time) ..."
	$(BIN)/python ffi/native/build.py
	@touch $@

# tilegym's wheel is pure Python; its own dependencies are not needed to capture its kernels.
$(STAMPS)/tilegym: $(STAMPS)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps '$(TILEGYM)'
	@touch $@

test: install $(STAMPS)/tilegym
	@command -v tmux >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq tmux >/dev/null; } || \
		echo "make: no tmux here: the tmux test will be skipped"
	$(BIN)/python -m pytest -m 'not slow and not gpu'
	$(BIN)/python ffi/native/build.py --test

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@mkdir -p $(VENV)/types && ln -sfn "$(CURDIR)" $(VENV)/types/tileport
	MYPYPATH=$(VENV)/types $(BIN)/mypy -p tileport.agent -p tileport.ffi -p tileport.tui -p tileport.verify
	$(BIN)/lint-imports
	$(BIN)/python ffi/native/build.py --lint

long: install $(STAMPS)/tilegym
	$(BIN)/python -m pytest -m slow

clean:
	rm -rf $(VENV) build dist *.egg-info ffi/target
