# SPDX-License-Identifier: Apache-2.0
"""The end of Python during a run, programs that nothing closes, and a fork after a load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import program

import etbackend
from etbackend import Runtime


def end_of(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=120)


def test_python_ends_while_a_thread_runs_a_program(loop: etbackend.Program, tmp_path: Path) -> None:
    path = loop.save(tmp_path / "loop.pte")
    done = end_of(
        "import sys, threading, time, numpy as np, etbackend\n"
        "runtime = etbackend.Runtime.load(sys.argv[1])\n"
        "endless = (np.array(1 << 40), np.ones((2, 4), np.float32))\n"
        "run = lambda: runtime.execute('forward', endless, max_instructions=2**64 - 1)\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        "time.sleep(0.2)\n"
        "print('end')\n",
        str(path),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_python_ends_with_programs_and_arrays_alive() -> None:
    done = end_of(
        "import sys, numpy as np, etbackend\n"
        "x = np.ones((2, 3), np.float32)\n"
        "runtime = etbackend.Runtime.load(sys.argv[1])\n"
        "view = runtime.method().execute((x, x), copy=False)\n"
        "class Cycle: pass\n"
        "cycle = Cycle(); cycle.me, cycle.all = cycle, (runtime, view)\n"
        "print(view.sum())\n",
        str(program("add")),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "12.0\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_child_of_fork_loads_and_runs(threads: int, xy: tuple[np.ndarray, np.ndarray]) -> None:
    """As multiprocessing does by default. The child loads a program of its own: threads do not survive a fork."""
    parent = Runtime.load(program("linear"), threads=threads)
    parent.method().load()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            total = Runtime.load(program("add"), threads=threads).forward(*xy).sum()
            code = 0 if total == (xy[0] + xy[1]).sum() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
