# Every target sets up what it needs. A second run installs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
COMPILE := $(BIN)/python -W ignore -m compileall -q -j 0 $(VENV)/lib >/dev/null || true # on all cores; pip takes one
DEMO := demo-data

.PHONY: help setup demo test fast check docs wheel audit bench clean
help:
	@echo "make setup   .venv with the program $(BIN)/eventcargo"
	@echo "make demo    simulate a small fleet, find its causes, write a report (a minute)"
	@echo "make test    all checks and tests"
	@echo "make fast    tests without the slow ones"
	@echo "make check   formatting, lint, types, import contracts"
	@echo "make docs    the site of the docs, in build/site"
	@echo "make wheel   wheel and source distribution in dist, tried in an empty environment (minutes)"
	@echo "make audit   known vulnerabilities of the pinned packages (needs the network)"
	@echo "make bench   every published number (hours)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || (echo "Python 3.11 or newer is needed; set PYTHON=..." && false)
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || (apt-get update -qq && apt-get install -y -qq python3-venv)
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[meds]'
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) -e '.[meds,hf,ray,serve,figures,xlsx,docs,dev]'
	@$(COMPILE)
	@touch $@

$(VENV)/.bench: $(VENV)/.runtime
	$(PIP) -e '.[meds,hf,ray,bench]'
	@touch $@

$(VENV)/.debian: | $(BIN)/python
	@(command -v chromium && command -v ip) >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium iproute2)
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

test: check $(VENV)/.debian
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

fast: $(VENV)/.dev $(VENV)/.debian
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow"

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html in a browser; for its search: python3 -m http.server -d build/site"

wheel: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m benchmarks.speed.first_answer --package dist/*.whl --out build/first_answer.json

audit: $(VENV)/.dev
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt || (echo \
		"Not audited, or not free of known vulnerabilities: see above. An audit asks the package index for every package;" \
		"one that it cannot ask about counts as not audited." && false)

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.scale.reading
	$(BIN)/python -m benchmarks.scale.simulating
	$(BIN)/python -m benchmarks.accuracy.fleet
	$(BIN)/python -m benchmarks.accuracy.regimes
	$(BIN)/python -m benchmarks.accuracy.pycausalfs
	$(BIN)/python -m benchmarks.scale.baselines
	$(BIN)/python -m benchmarks.accuracy.label_model --minutes 10
	$(BIN)/python -m benchmarks.speed.start
	$(BIN)/python -m benchmarks.speed.first_answer
	$(BIN)/python -m benchmarks.speed.linear_term
	$(BIN)/python -m benchmarks.speed.time_limit
	$(BIN)/python -m benchmarks.speed.waiting
	$(BIN)/python -m benchmarks.speed.whole_runs
	$(BIN)/python -m benchmarks.speed.engines
	$(BIN)/python -m benchmarks.speed.training
	$(BIN)/python -m benchmarks.scale.training --run benchmarks/paper-run
	$(BIN)/python -m benchmarks.accuracy.oracle
	$(BIN)/python -m benchmarks.scale.extracting benchmarks/paper-run
	$(BIN)/python -m benchmarks.speed.phase1
	$(BIN)/python -m benchmarks.speed.phase1_profile
	$(BIN)/python -m benchmarks.accuracy.particles
	$(BIN)/python -m benchmarks.accuracy.hiding
	$(BIN)/python -m benchmarks.accuracy.fusion_oracle
	$(BIN)/python -m benchmarks.scale.fusing --votes 13500000
	$(BIN)/python -m benchmarks.scale.growth --large --check --figure docs/growth.png --docs docs/results.md
	$(BIN)/python -m benchmarks.scale.workers
	$(BIN)/python -m benchmarks.scale.cluster --docs docs/scale.md
	$(BIN)/python -m benchmarks.reliability.engines
	$(BIN)/python -m benchmarks.accuracy.coverage
	$(BIN)/python -m benchmarks.accuracy.odds_coverage
	$(BIN)/python -m benchmarks.accuracy.compare --docs docs/results.md
	$(BIN)/python -m benchmarks.accuracy.without --docs docs/results.md
	$(BIN)/python -m benchmarks.accuracy.criteria --figure docs/criteria.png
	$(BIN)/python -m benchmarks.paper.run --figures docs --docs docs/paper.md
	$(BIN)/python -m benchmarks.paper.label_queries --docs docs/paper.md
	$(BIN)/python -m benchmarks.accuracy.verify
	$(BIN)/python -m benchmarks.accuracy.rules
	$(BIN)/python -m benchmarks.accuracy.verdicts
	$(BIN)/python -m benchmarks.accuracy.clinic
	$(BIN)/python -m benchmarks.scale.cohort
	$(BIN)/python -m benchmarks.speed.pooled
	$(BIN)/python -m benchmarks.speed.focused
	$(BIN)/python -m benchmarks.scale.focused
	$(BIN)/python -m benchmarks.accuracy.null_labels
	$(BIN)/python -m benchmarks.accuracy.arrangements
	$(BIN)/python -m benchmarks.accuracy.unnamed --docs docs/results.md
	$(BIN)/python -m benchmarks.reliability.damaged --docs docs/results.md
	$(BIN)/python -m benchmarks.reliability.kills --docs docs/results.md
	$(BIN)/python -m benchmarks.reliability.checksums --docs docs/results.md
	$(BIN)/python -m benchmarks.reliability.extremes --docs docs/results.md
	$(BIN)/python -m benchmarks.scale.mapped --docs docs/scale.md
	$(BIN)/python -m benchmarks.scale.beyond --docs docs/scale.md
	$(BIN)/python -m benchmarks.accuracy.run --cases weak --docs docs/results.md
	$(BIN)/python -m benchmarks.accuracy.run --figure docs/accuracy.png --docs docs/results.md

clean:
	rm -rf $(VENV) $(DEMO) build dist benchmarks/paper-run benchmarks/parts
