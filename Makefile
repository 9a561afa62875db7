# Two commands do everything: `make demo` shows what Foveate does, `make test` proves that it does it.

PYTHON ?= python3
# Where PyTorch comes from; empty: your own pip index if you have one, else PyTorch's CPU builds.
TORCH_INDEX ?=
# Arguments for pytest: make test ARGS="-k budget"
ARGS ?=
# Data files to measure quality on, and how: make bench DATA="dev/*.jsonl.gz" BENCH="--limit 50"
DATA ?=
BENCH ?=

VENV := .venv/bin
STEP := .ci/step
INSTALL := $(VENV)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
CORES := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
# PyTorch on its own takes hyperthreads for cores.
export OMP_NUM_THREADS ?= $(CORES)

.DEFAULT_GOAL := help
.PHONY: help demo test bench check models format-check lint types layers readme wheel

help:
	@echo 'make demo   install into .venv, fetch the models, write and show out/demo.html'
	@echo 'make test   install the same and what tests need, run all tests'
	@echo 'make bench  measure quality on DATA, if given; write docs/benchmarks.md from bench/results'
	@echo 'make check  formatting, lint, types, layers, the README'"'"'s code, the wheel'
	@echo 'Variables: PYTHON=python3.12   TORCH_INDEX=https://download.pytorch.org/whl/cu130   ARGS="-k budget"'

demo: .venv/demo.stamp models
	@mkdir -p out
	$(VENV)/foveate demo --out out/demo.html

test: .venv/dev.stamp models
	$(VENV)/python -m pytest $(ARGS)

bench: .venv/dev.stamp models
ifneq ($(strip $(DATA)),)
	$(VENV)/python -m bench.quality --data $(DATA) --systems all --budget 0.1 0.2 0.3 0.5 256 512 1024 \
	  --json bench/results/quality.json $(BENCH)
endif
	@$(STEP) 'docs/benchmarks.md and its pictures, some seconds' $(VENV)/python -m bench.report

check: format-check lint types layers readme wheel

format-check: .venv/dev.stamp
	@$(STEP) 'Formatting, a second' $(VENV)/ruff format --check

lint: .venv/dev.stamp
	@$(STEP) 'Lint, a second' $(VENV)/ruff check

types: .venv/dev.stamp
	@$(STEP) 'Types, a minute at first' $(VENV)/mypy

layers: .venv/dev.stamp
	@PYTHONPATH=.src $(STEP) 'Layers, some seconds' $(VENV)/lint-imports

readme: .venv/dev.stamp models
	@$(STEP) 'The code in the README, a minute' $(VENV)/python -m pytest tests/test_readme.py

wheel: .venv/dev.stamp
	@$(STEP) 'The wheel, in an environment of its own, half a minute' .ci/wheel

# Quick when they are there; one line each, so that each name is a name of its own.
models: .venv/demo.stamp
	@$(STEP) 'The proxy that reads, a minute or two at first (93 MB)' $(VENV)/foveate models pull default
	@$(STEP) 'The embedder, half a minute at first (84 MB)' $(VENV)/foveate models pull minilm

.venv/torch.stamp: constraints.txt .ci/venv
	@PYTHON='$(PYTHON)' TORCH_INDEX='$(TORCH_INDEX)' .ci/venv
	@touch $@

.venv/demo.stamp: .venv/torch.stamp pyproject.toml
	@$(STEP) 'Foveate and what it needs, about a minute' \
	  $(INSTALL) --editable '.[retrieval,cli,generators]'
	@touch $@

.venv/dev.stamp: .venv/demo.stamp
	@$(STEP) 'What the tests need, half a minute' \
	  $(INSTALL) --group dev --editable '.[retrieval,cli,generators,service,langchain,train]'
	@touch $@
