# Everything a person or a CI job does with this repository. `make` alone lists it.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Programs unpacked for a user without root (see scripts/programs.sh); harmless where there are none.
PROGRAMS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nodusctl/programs
export PATH := $(PATH):/usr/sbin:/sbin:$(PROGRAMS)/usr/sbin:$(PROGRAMS)/usr/bin

.DEFAULT_GOAL := help
.PHONY: help setup programs demo demo-cron test lint check format schemas plans docs soak test-gpu-host bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv with nodusctl and everything its tests need

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with its venv module is needed:  apt-get install python3 python3-venv"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

programs: ## install or unpack sshd and what else local machines need
	@sh scripts/programs.sh "$(PROGRAMS)"

demo: setup programs ## plan, apply, use, stop, start and remove examples/quickstart, then examples/studio, on this computer
	$(BIN)/python scripts/demo.py --programs "$(PROGRAMS)"

demo-cron: setup ## a real cron daemon starts and stops a Workspace by itself (as root; about 4 minutes)
	@sh scripts/programs.sh "$(PROGRAMS)" cron
	$(BIN)/python scripts/demo_cron.py --programs "$(PROGRAMS)"

test: setup ## the whole test suite
	@sh scripts/programs.sh "$(PROGRAMS)" tests
	@sh scripts/libvirt_host.sh install
	$(BIN)/python -m pytest -n auto --dist loadfile

test-gpu-host: setup ## what only a host with cards can show (HOST=qemu:///system IMAGE=/path/on/host.qcow2; see docs/libvirt.md)
	@test -n "$(HOST)" && test -n "$(IMAGE)" || { echo "HOST and IMAGE are needed:  make test-gpu-host HOST=qemu:///system IMAGE=/path/on/host.qcow2"; exit 1; }
	$(foreach word,HOST IMAGE HOST_KEY IDENTITY FOLDER NETWORK BRIDGE CARDS BOOT CPU_MILLI MEMORY_MIB GUEST_SECONDS,\
		$(if $($(word)),NODUSCTL_GPU_$(word)='$($(word))')) $(BIN)/python -m pytest -n 0 -s -v tests/local/libvirt/test_gpu_host.py

lint: setup ## format, lint, types, import contracts, generated files current
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/make_schemas.py --check
	$(BIN)/python scripts/make_plans.py --check
	$(BIN)/python scripts/make_docs.py --check
	$(BIN)/python scripts/make_ci.py --check

check: lint ## what `lint` checks, and the fast tests
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m 'not slow and not local'

format: setup ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schemas: setup ## write schemas/
	$(BIN)/python scripts/make_schemas.py

plans: setup ## write plans/: the examples planned in a fixed world
	$(BIN)/python scripts/make_plans.py

docs: setup ## write the generated pages of docs/ (commands, kinds, error codes) and the workflows of examples/ci
	$(BIN)/python scripts/make_docs.py
	$(BIN)/python scripts/make_ci.py

soak: setup ## random lives against every promise for an hour (SOAK=seconds), and each property, never the same
	SOAK=$(or $(SOAK),3600) $(BIN)/python -m pytest -q tests/property

bench: setup ## measure what must stay fast, as ratios of one run
	$(BIN)/python -m tests.benchmarks

clean: ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
