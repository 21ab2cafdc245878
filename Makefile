# One command each: `make testbed-up`, `make demo`, `make test`. Everything runs from a virtual environment in .venv.
TOPOLOGY ?= mini
CAMPAIGN ?= first
POLICY ?= wf
JOBS ?= 20
SEED ?= 1
PYTHON ?= python3
TESTBED := .venv/bin/testbed
READY := .venv/.installed

.PHONY: testbed-up testbed-down campaign demo test unit live bench lint

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@echo "compiling the simulator (it also runs interpreted, three to four times as long)"
	-.venv/bin/python -m emulator.simulator.compile
	touch $@

testbed-up: $(READY)
	$(TESTBED) up --topology $(TOPOLOGY)

testbed-down: $(READY)
	$(TESTBED) down

campaign: $(READY)
	$(TESTBED) campaign run $(CAMPAIGN) --policy $(POLICY) --jobs $(JOBS) --seed $(SEED)

# The whole way through: a testbed, a campaign across it, measured extension factors, a report.
demo: testbed-up
	$(TESTBED) campaign run first --jobs $(JOBS) --seed $(SEED) --out runs/demo
	$(TESTBED) measure --app poisson --grid 1000 --processors 16 --clusters 1,2,4 --out runs/demo-measure
	$(TESTBED) report runs/demo runs/demo-measure

test: unit live

# Compiled anew where sources changed, so that the compiled policies are tested too.
unit: $(READY)
	-.venv/bin/python -m emulator.simulator.compile
	.venv/bin/pytest tests/unit --quiet

# Needs Docker: brings up testbeds of its own names and takes them down.
live: $(READY)
	.venv/bin/pytest tests/live --quiet

# Ratios of contenders measured side by side in one run; compiles the simulator from its own sources first.
bench: $(READY)
	.venv/bin/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	.venv/bin/python -m emulator.simulator.compile
	.venv/bin/python -m tests.bench
	.venv/bin/python -m tests.bench.kernels
	.venv/bin/python -m tests.bench.start --ranks 16 64
	.venv/bin/python -m tests.bench.ranks --rounds 1
	.venv/bin/python -m tests.bench.submissions

lint: $(READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
