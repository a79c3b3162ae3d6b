# SPDX-License-Identifier: Apache-2.0
"""Threads: load, run and unload from eight of them; cancel and close under way; the GIL."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import FIXTURES, arrays, has_xnnpack, program

import etbackend
from etbackend import Error, Runtime

FOREVER = np.array(1 << 40)  # rounds of the loop


def in_eight_threads(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(8) as pool:
        for result in [pool.submit(work, index) for index in range(8)]:
            result.result(timeout=120)


def rows() -> np.ndarray:
    return np.ones((2, 4), np.float32)


def wait_for_a_run(thread: threading.Thread) -> None:
    """Gives the thread time to be inside the library; the checks after it hold also if it was too slow."""
    time.sleep(0.05)
    assert thread.is_alive()


class Background:
    """Runs the endless loop on a thread and keeps its error."""

    def __init__(self, runtime: Runtime, **options: float) -> None:
        self.error: Error | None = None
        self.runtime, self.options = runtime, options
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        wait_for_a_run(self.thread)

    def run(self) -> None:
        try:
            self.runtime.execute("forward", (FOREVER, rows()), max_instructions=2**64 - 1, **self.options)
        except Error as error:
            self.error = error

    def reason(self) -> str:
        self.thread.join(timeout=60)
        assert not self.thread.is_alive() and self.error is not None
        return self.error.reason


def test_eight_threads_load_run_and_unload() -> None:
    names = ["add", "linear", "conv", "counter"] + (["xnnpack"] if has_xnnpack else [])
    stems = {name: FIXTURES / "programs" / f"{name}.forward.0" for name in names}
    # Read before the threads begin: in Python 3.11, ast.literal_eval of np.load may fail on several threads.
    cases = {name: (arrays(stem, "in"), arrays(stem, "out")) for name, stem in stems.items()}

    def work(index: int) -> None:
        for turn in range(20):
            name = names[(index + turn) % len(names)]
            inputs, outputs = cases[name]
            runtime = Runtime.load(program(name), threads=1 + index % 2)
            (found,) = runtime.method().run(inputs)
            np.testing.assert_allclose(found, outputs[0], rtol=1e-5, atol=1e-5)
            if turn % 2 == 0:
                runtime.method().unload()
            if turn % 3 == 0:
                runtime.close()

    in_eight_threads(work)


def test_eight_threads_share_one_program(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    def work(index: int) -> None:
        x = xy[0] + index
        for turn in range(300):
            np.testing.assert_array_equal(add.forward(x, xy[1]), x + xy[1])
            if turn % 100 == 99:
                add.method().unload()

    in_eight_threads(work)


def test_eight_threads_use_what_one_closes(xy: tuple[np.ndarray, np.ndarray]) -> None:
    for _ in range(10):
        runtime = Runtime.load(program("add"))

        def work(index: int) -> None:
            try:
                for _ in range(50):
                    np.testing.assert_array_equal(runtime.forward(*xy), xy[0] + xy[1])
                if index == 0:
                    runtime.close()
            except Error as error:
                # A run that another thread closed ends as cancelled, a later one finds the program closed.
                assert error.reason in ("python.closed", "status.cancelled")

        in_eight_threads(work)


def test_eight_threads_ask_the_registry() -> None:
    in_eight_threads(lambda index: [etbackend.explain(f"no such plugin {index}") and etbackend.plugins() for _ in range(20)] and None)


def test_other_threads_work_during_a_run(loop: etbackend.Program) -> None:
    runtime = loop.load()
    background = Background(runtime, timeout=20)
    steps, end = 0, time.monotonic() + 0.5
    longest, last = 0.0, time.monotonic()
    while time.monotonic() < end:  # a run that holds the GIL would stop this loop for 20 s
        steps += 1
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    runtime.cancel()
    assert background.reason() == "status.cancelled"
    assert steps > 1000 and longest < 10


def test_a_run_is_cancelled_from_another_thread(loop: etbackend.Program) -> None:
    runtime = loop.load()
    background = Background(runtime)
    runtime.cancel()
    assert background.reason() == "status.cancelled"
    n, x = runtime.forward(np.array(2), rows())  # the program stays usable
    assert n == 0 and x.shape == (2, 4)


def test_a_cancel_without_a_run_has_no_effect(loop: etbackend.Program) -> None:
    runtime = loop.load()
    runtime.cancel()
    assert runtime.forward(np.array(1), rows())[0] == 0


def test_a_close_ends_the_run_of_another_thread(loop: etbackend.Program) -> None:
    runtime = loop.load()
    background = Background(runtime)
    runtime.close()
    assert background.reason() == "status.cancelled"


def test_a_run_ends_at_its_deadline(loop: etbackend.Program) -> None:
    begin = time.monotonic()
    with pytest.raises(Error) as caught:
        loop.load().execute("forward", (FOREVER, rows()), timeout=0.1, max_instructions=2**64 - 1)
    assert caught.value.reason == "status.deadline-exceeded" and time.monotonic() - begin < 30


def test_a_run_ends_at_its_limit_of_instructions(loop: etbackend.Program) -> None:
    with pytest.raises(Error) as caught:
        loop.load().execute("forward", (FOREVER, rows()), max_instructions=1000)
    assert caught.value.reason == "status.out-of-resources"


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "1", 1e30])
def test_a_wrong_timeout_is_an_error(loop: etbackend.Program, wrong: float) -> None:
    with pytest.raises(Error) as caught:
        loop.load().execute("forward", (FOREVER, rows()), timeout=wrong)
    assert caught.value.reason == "python.argument"


def test_an_input_that_uses_the_program_is_an_error(add: Runtime, xy: tuple[np.ndarray, np.ndarray]) -> None:
    class Reenters:
        def __dlpack__(self) -> object:
            return add.forward(*xy).__dlpack__()

    with pytest.raises(Error, match="not over"):
        add.forward(Reenters(), xy[1])
    np.testing.assert_array_equal(add.forward(*xy), xy[0] + xy[1])


def test_a_finalizer_during_a_run_may_close_other_programs(xy: tuple[np.ndarray, np.ndarray]) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.runtime, self.me = Runtime.load(program("add")), self

        def __del__(self) -> None:
            self.runtime.close()

    runtime = Runtime.load(program("add"))
    for _ in range(50):
        Cycle()
        runtime.forward(*xy)
    gc.collect()
    np.testing.assert_array_equal(runtime.forward(*xy), xy[0] + xy[1])


def test_a_submitted_run_has_a_future(xy: tuple[np.ndarray, np.ndarray]) -> None:
    seen: list[np.ndarray] = []
    with Runtime.load(program("add")) as runtime:
        futures = [runtime.submit(xy[0], xy[1]) for _ in range(3)]
        futures.append(runtime.method().submit(xy, priority=900, run_id=7))
        futures[-1].add_done_callback(lambda done: seen.append(done.result()))
        for future in futures:
            np.testing.assert_array_equal(future.result(timeout=60), xy[0] + xy[1])
        with pytest.raises(Error, match="priority: 1001, expected a whole number from 0 to 1000"):
            runtime.method().submit(xy, priority=1001).result(timeout=60)
        with pytest.raises(Error, match="the priority is 1001"):  # the library's own check
            runtime.method()._native.run(xy, -1, True, 0, 0, 1001, 0)
    assert len(seen) == 1


def test_close_ends_submitted_runs(loop: etbackend.Program) -> None:
    runtime = loop.load()
    present = runtime.method().submit((FOREVER, rows()), max_instructions=2**64 - 1)
    later = runtime.method().submit((FOREVER, rows()), max_instructions=2**64 - 1)
    while not present.running():
        time.sleep(0.001)
    time.sleep(0.05)
    runtime.close()
    with pytest.raises(Error) as caught:
        present.result(timeout=60)
    assert caught.value.reason in ("status.cancelled", "python.closed")
    assert later.cancelled()
