# The commands of the project. Everything runs in .venv, built from constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := run
.PHONY: run test check paper bench fuzz docs release clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "truegraph needs Python 3.11 or newer; set it with: make PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

run: $(READY)  ## the main job on embedded data: GCN, the paper's Bayesian GCN, the recommended recipe
	$(BIN)/truegraph compare classify cora --per-class 5 --trials 6 --models gcn,bgcn,auto --out runs/cora

test: $(READY)  ## the whole test suite
	$(BIN)/python -m pytest -n logical

check: $(READY)  ## style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/test_house.py

paper: $(READY)  ## all of the paper's tables and figures, resumable; make paper ONLY=table1 TRIALS=10
	$(BIN)/python -m lab $(or $(ONLY),paper) $(if $(TRIALS),--trials $(TRIALS)) $(if $(JOBS),--jobs $(JOBS))

bench: $(READY)  ## the graph learning benchmark (see benchmarks/README.md for all)
	$(BIN)/python benchmarks/graph_learning.py

fuzz: $(READY)  ## hostile input for readers, gate and loaders; make fuzz MINUTES=120
	$(BIN)/python scripts/fuzz.py --minutes $(or $(MINUTES),60)

docs: $(READY)  ## the documentation site, into docs/_build/html; all of its code runs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python -m sphinx -b html -W --keep-going -d docs/_build/doctrees docs docs/_build/html

release: $(READY)  ## build wheel and sdist, check both in a clean environment, and say what is left to a person
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[release]'
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m pytest tests/test_installation.py
	$(BIN)/python scripts/stranger.py dist/*.whl
	@echo "Left to you: the public address of the repository in [project.urls] of pyproject.toml,"
	@echo "a tag v$$($(BIN)/python -c 'import truegraph; print(truegraph.__version__)'), python benchmarks/ratios.py on a quiet machine, and: twine upload dist/*"

clean:
	rm -rf .venv runs
