# One command each: `make testbed-up`, `make demo`, `make test`. Everything runs from a virtual environment in .venv.
TOPOLOGY ?= mini
CAMPAIGN ?= first
SEED ?= 1
PYTHON ?= python3
TESTBED := .venv/bin/testbed
# What a testbed needs is installed first; what tests and checks need, only for them.
USE := .venv/.use
READY := .venv/.ready
# Modules are byte-compiled when they are first imported: most never are. The requirements are complete: none is resolved.
INSTALL := .venv/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps
PYTEST := .venv/bin/pytest --durations=25
# Unit tests run on all cores, in random order; what measures time, and what shares testbeds, one after another.
PARALLEL := --numprocesses=auto --dist=worksteal
ORDERED := -p no:randomly
LIVE := $(PYTEST) tests/live $(ORDERED)
# Strict: a warning is an error. Nothing is fetched.
SITE := .venv/bin/sphinx-build --quiet --jobs auto --fail-on-warning --keep-going -d build/doctrees docs build/site
PICTURES := $(addprefix build/pictures/,campaign/gantt.svg campaign/utilization.svg campaign/background.png \
	side-by-side/times.svg measurement/extension-factors.svg measurement/links.svg \
	policies/paired-differences.svg compared/policies-live-and-simulated.svg files/claiming.svg topology.svg real-clusters.svg hosts.svg predicted.svg plan.svg \
	attribution.svg shared-nodes.svg second-opinion.svg table-errors.svg reproduced.png own-program.png)
COVERAGE := --cov --cov-report=

# Python keeps what it has compiled, whatever the environment says: otherwise each of hundreds of processes compiles its
# modules again, and importing pandas takes seconds.
unexport PYTHONDONTWRITEBYTECODE

# What a user may state, and a campaign otherwise says itself: POLICY=cm, JOBS=20.
CHOSEN = $(if $(POLICY),--policy $(POLICY)) $(if $(JOBS),--jobs $(JOBS)) --seed $(SEED)

# Prerequisites are made in their order: what lacks is said before anything is installed.
.NOTPARALLEL:
.PHONY: possible doctor testbed-up testbed-down campaign demo test test-all compiled images unit untimed timed unit-all live live-all browser \
	bench lint site pictures wheel lock

$(USE): pyproject.toml requirements/host.txt requirements/build.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes --requirement requirements/host.txt --requirement requirements/build.txt
	$(INSTALL) --no-build-isolation --editable .
	touch $@

$(READY): $(USE) requirements/dev.txt
	$(INSTALL) --require-hashes --requirement requirements/dev.txt
	touch $@

possible:
	@$(PYTHON) -m emulator.containers.prerequisites

# What this host has and lacks for a testbed.
doctor: $(USE)
	$(TESTBED) doctor

testbed-up: possible $(USE)
	$(TESTBED) up --topology $(TOPOLOGY)

testbed-down: $(USE)
	$(TESTBED) down

# A campaign on its own topology.
campaign: possible $(USE)
	topology=$$($(TESTBED) campaign topology $(CAMPAIGN)) && $(TESTBED) up --topology "$$topology"
	$(TESTBED) campaign run $(CAMPAIGN) $(CHOSEN)

# The whole way through: a testbed, measured extension factors, a campaign across it, a report.
demo: JOBS := $(or $(JOBS),6)
demo: RUNS := runs/demo-$(shell date +%Y%m%d-%H%M%S)
demo: testbed-up
	$(TESTBED) measure --app poisson --grid 1000 --processors 16 --clusters 1,2,4 --require void --out $(RUNS)/factors
	$(TESTBED) campaign run first $(CHOSEN) --require void --out $(RUNS)/campaign
	$(TESTBED) report $(RUNS)/campaign $(RUNS)/factors
	@echo "Next: $(TESTBED) page shows the testbed in a browser, and $(TESTBED) page $(RUNS)/campaign that run again."
	@echo "docs/first-run.md explains these figures. make testbed-down takes the testbed down."

# The gate: every capability once. docs/tests.md says what each part proves and how to run one alone. Live tests mostly
# wait, so two groups of them, each with testbeds of its own, and the unit tests run side by side. What measures time
# runs after them, one test after another.
test: $(READY)
	@mkdir -p build
	@echo "Side by side: unit tests (build/unit.log), live tests on one testbed (build/quick.log), and the others:"
	$(MAKE) untimed >build/unit.log 2>&1 & unit=$$!; \
	$(LIVE) -m "quick and not timed and not long" >build/quick.log 2>&1 & quick=$$!; \
	$(LIVE) -m "not quick and not timed and not long"; result=$$?; \
	wait $$unit || result=$$?; wait $$quick || result=$$?; cat build/unit.log build/quick.log; exit $$result
	$(MAKE) timed
	$(LIVE) -m "timed and not long"

# Everything, the long tests among them.
test-all: images unit-all live-all

# Without a compiler the simulator runs as it is.
compiled: $(READY)
	-.venv/bin/python -m emulator.simulator.compile

images: $(USE)
	$(TESTBED) images

unit: untimed timed

untimed: compiled
	$(PYTEST) tests/unit -m "not timed and not long" $(PARALLEL)

timed: compiled
	$(PYTEST) tests/unit -m "timed and not long" $(ORDERED)

unit-all: compiled
	$(PYTEST) tests/unit -m "not timed" $(PARALLEL) --hypothesis-profile=long $(COVERAGE)
	$(PYTEST) tests/unit -m timed $(ORDERED) --hypothesis-profile=long
	@echo "coverage of what needs no container: $$(.venv/bin/coverage report --format=total)%"

# Needs Docker: brings up testbeds of its own names and takes them down.
live: compiled images
	$(LIVE) -m "not long"

live-all: compiled images
	$(LIVE)

# The page, in Debian's Chromium.
browser: $(READY)
	$(PYTEST) tests/browser $(ORDERED)

# Ratios of contenders measured side by side in one run; compiles the simulator from its own sources first.
bench: $(READY)
	$(INSTALL) --require-hashes --requirement requirements/bench.txt
	.venv/bin/python -m emulator.simulator.compile
	.venv/bin/python -m tests.bench
	.venv/bin/python -m tests.bench.kernels
	.venv/bin/python -m tests.bench.start --ranks 16 64
	.venv/bin/python -m tests.bench.ranks --rounds 1
	.venv/bin/python -m tests.bench.submissions
	.venv/bin/python -m tests.bench.arbiter

lint: $(READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(SITE)

# The manual: open build/site/index.html.
site: $(READY)
	$(SITE)

# The pictures of the manual: from simulated campaigns, the recorded measurement, executed notebooks and docs/drawing.
pictures: $(READY)
	rm -rf build/pictures && mkdir -p build/pictures
	$(TESTBED) simulate W2 --policy wf --jobs 60 --seed 1 --extension-factors 1.25 --out build/pictures/w2-wf
	$(TESTBED) simulate W2 --policy cm --jobs 60 --seed 1 --extension-factors 1.25 --out build/pictures/w2-cm
	$(TESTBED) simulate W2 --policy examples/policies/one_cluster_first.py:OneClusterFirst --jobs 60 --seed 1 \
		--extension-factors 1.25 --out build/pictures/w2-one-cluster-first
	$(TESTBED) simulate W30 --policy cf --jobs 60 --seed 1 --out build/pictures/w30-cf
	$(TESTBED) report build/pictures/w2-wf --figures build/pictures/campaign
	$(TESTBED) report build/pictures/w2-wf build/pictures/w2-cm --figures build/pictures/side-by-side
	$(TESTBED) report build/pictures/w2-wf build/pictures/w2-one-cluster-first --figures build/pictures/policies
	$(TESTBED) report build/pictures/w30-cf --figures build/pictures/files
	$(TESTBED) report examples/recorded/poisson-1000-on-16 --figures build/pictures/measurement
	mkdir build/pictures/live && cp -r docs/results/campaigns/w1-*-40-jobs-seed-[12345] build/pictures/live
	$(TESTBED) simulate --like build/pictures/live --out build/pictures/like-live
	$(TESTBED) compare build/pictures/live build/pictures/like-live --first wf --figures build/pictures/compared
	$(TESTBED) calibrate --table workloads/reference/das2_poisson_table.csv --out build/pictures/table >/dev/null
	.venv/bin/python -m docs.drawing build/pictures --table build/pictures/table
	cp $(PICTURES) docs/pictures/

# A wheel in dist/. With COMPILED=yes it holds the compiled simulator, and is for this Python and platform only.
wheel: $(READY)
	TESTBED_COMPILED_WHEEL=$(COMPILED) .venv/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# The pinned requirements, written anew from pyproject.toml; `make lock UPGRADE=1` takes the newest versions.
lock:
	$(PYTHON) requirements/lock.py $(if $(UPGRADE),--upgrade)
