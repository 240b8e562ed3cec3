# make demo    a table, Spark batch, a Spark stream that is killed: the same answers; writes build/demo/index.html
# make test    the tests (sets up .venv first)
# make lint    ruff and mypy
# make bench   the benchmarks against other libraries; renews the figures in README.md and docs
# make bench-papers  the papers' experiments
# make test-all  the tests with the slow ones, each property on all its examples
# make faults    the fault suite, up to 15 minutes: kills, damage, full disks; writes docs/reliability.md
# make soak      a stream for half an hour: is its memory flat? writes docs/benchmarks/soak.md
# make explore   the tests on examples that no run has drawn before
# make test-pandas  the tests of frames with pandas 3 (the others run with pandas 2, as Spark asks)
# make test-extras  each extra by itself, in an environment of its own
# make docs      the documentation site, every warning an error, into build/site
# make release-check  what a release must pass: build, twine, the wheel in new environments

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test test-all test-pandas test-extras explore faults soak lint format clean java redis

demo: $(READY) java
	@$(BIN)/windrow demo --output build/demo

test: $(READY) java redis
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
	  || echo "windrow: no browser to look at the demo's page with: apt-get install chromium"
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || echo "windrow: no PostgreSQL to run the recipes for streams with: apt-get install postgresql"
	@echo "windrow: running the tests"
	@$(BIN)/python -m pytest -q -n auto -m "not slow"

test-all: $(READY) java redis
	@HYPOTHESIS_PROFILE=all $(BIN)/python -m pytest -q -n auto

# With another pandas before the locked one.
PANDAS := tests/tables/test_frames.py tests/tables/test_index.py tests/tables/test_bind.py \
  tests/kernels/test_other_arrays.py \
  tests/windows/test_push.py tests/windows/test_push_refusals.py
test-pandas: $(READY)
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --upgrade \
	  --target build/pandas3 -r requirements/pandas3.txt
	@PYTHONPATH=build/pandas3 $(BIN)/python -m pytest -q -n auto -m "not slow" $(PANDAS)

test-extras: $(READY) java redis
	@$(BIN)/python -m pytest -q tests/test_package_extras.py

explore: $(READY) java redis
	@HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -q -n auto -m "not slow"

faults: $(READY) java redis
	@echo "windrow: running the fault suite, up to 15 minutes; writes docs/reliability.md"
	@$(BIN)/python -m tests.faults

soak: $(READY) java
	@echo "windrow: a stream for half an hour and a thousand micro-batches; writes docs/benchmarks/soak.md"
	@$(BIN)/python -m bench soak --output docs/benchmarks

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

java:  # Spark runs on it
	@tools/java

redis:  # the tests of the stores start it
	@tools/redis

$(READY): pyproject.toml requirements/dev.txt
	@echo "windrow: setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "windrow needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/dev.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: bench bench-papers
bench: $(READY) java
	@echo "windrow: against its peers, up to an hour (QUICK=--quick: five minutes; RESUME=--resume goes on with a run that was stopped); renews the figures"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/bench.txt
	@$(BIN)/python -m bench peers $(QUICK) $(RESUME) --output build/bench/peers
	@$(BIN)/python -m bench figures build/bench/peers

bench-papers: $(READY) java
	@echo "windrow: the papers' experiments, up to an hour (QUICK=--quick: five minutes; RESUME=--resume goes on with a run that was stopped)"
	@$(BIN)/python -m bench papers $(QUICK) $(RESUME) --output build/bench/papers
	@$(BIN)/python -m bench figures build/bench/papers

.PHONY: lock
lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv"; exit 2; }
	@for set in dev bench docs release; do \
	  uv pip compile -q requirements/$$set.in -o requirements/$$set.txt --universal \
	    --python-version 3.11 --no-header --upgrade; done

# The site and a release need nothing of the tests', so each has an environment of its own.
.PHONY: docs release-check
docs: build/docs-env/.ready
	@echo "windrow: building the site"
	@NO_MKDOCS_2_WARNING=1 build/docs-env/bin/mkdocs build --quiet --strict
	@build/docs-env/bin/python tools/site/check.py build/site
	@echo "windrow: done, open build/site/index.html"

release-check: build/release-env/.ready
	@build/release-env/bin/python tools/release_check.py

build/%-env/.ready: requirements/%.txt
	@echo "windrow: setting up build/$*-env (once)"
	@$(PYTHON) -m venv build/$*-env
	@build/$*-env/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@
