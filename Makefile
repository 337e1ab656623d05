# Every target sets up what it needs. A second run installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO := demo-data

.PHONY: help setup demo test fast check bench clean
help:
	@echo "make setup   .venv with the program $(BIN)/eventcargo"
	@echo "make demo    simulate a small fleet, find its causes, write a report (minutes)"
	@echo "make test    all checks and tests"
	@echo "make fast    tests without the slow ones"
	@echo "make check   formatting, lint, types, import contracts"
	@echo "make bench   every published number (hours)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || (echo "Python 3.11 or newer is needed; set PYTHON=..." && false)
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || (apt-get update -qq && apt-get install -y -qq python3-venv)
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[meds]'
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) -e '.[meds,dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.runtime
	$(PIP) -e '.[meds,hf,bench]'
	@touch $@

$(VENV)/.browser: | $(BIN)/python
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	@touch $@

setup: $(VENV)/.runtime

demo: $(VENV)/.runtime
	rm -rf $(DEMO)
	$(BIN)/eventcargo demo --out $(DEMO)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check $(VENV)/.browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

fast: $(VENV)/.dev $(VENV)/.browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow"

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/simulating.py
	$(BIN)/python benchmarks/fleet.py
	$(BIN)/python benchmarks/regimes.py
	$(BIN)/python benchmarks/pycausalfs.py
	$(BIN)/python benchmarks/paper_size.py
	$(BIN)/python benchmarks/label_model.py --minutes 10
	$(BIN)/python benchmarks/training_speed.py
	$(BIN)/python benchmarks/paper_size_model.py --run benchmarks/paper-run
	$(BIN)/python benchmarks/oracle.py
	$(BIN)/python benchmarks/extract_size.py benchmarks/paper-run
	$(BIN)/python benchmarks/phase1_speed.py
	$(BIN)/python benchmarks/phase1_profile.py
	$(BIN)/python benchmarks/particles.py
	$(BIN)/python benchmarks/hiding.py
	$(BIN)/python benchmarks/fusion_oracle.py
	$(BIN)/python benchmarks/fusion_size.py --votes 13500000
	$(BIN)/python benchmarks/coverage.py
	$(BIN)/python benchmarks/criteria.py --figure docs/criteria.png
	$(BIN)/python benchmarks/paper.py --minutes 6 --figures docs --docs docs/paper.md
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/rules.py
	$(BIN)/python benchmarks/verdicts.py
	$(BIN)/python benchmarks/accuracy.py --figure docs/accuracy.png --docs docs/results.md

clean:
	rm -rf $(VENV) $(DEMO) benchmarks/paper-run benchmarks/parts
