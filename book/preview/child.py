"""Run a program that ends with whoever started it, even when that one was killed.

    python child.py .venv/bin/jupyter-server --ServerApp.port=0

Standard input is a pipe that the starter holds open and never writes to: it ends with the starter.
"""

import os
import runpy
import signal
import sys
import threading


def follow() -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=follow, daemon=True).start()
del sys.argv[0]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
