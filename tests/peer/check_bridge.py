#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs on the official ExecuTorch run time (its Python package) with our plugins behind the bridge.

usage: check_bridge.py BUILD [--broken DIR] [--limit N] [PROGRAM_DIR ...]

BUILD is a build folder configured with ETB_BRIDGE_EXECUTORCH. Checks, each in a process of its own:
  late     the bridge is loaded after the run time (ctypes.CDLL); the delegate id of each program is replaced by a name that
           only the bridge has, and the outputs must have the bits of `etbackend run`, or be close where the program also uses
           kernels, which are the run time's own. Prints the time of a call, too.
  preload  LD_PRELOAD: the bridge serves XnnpackBackend itself, and the same programs give the same bits.
  template the plugin that `etbackend new` writes (my_npu): a program that etbackend compiled for it.
  broken   with plugins of tests/broken_plugins: one that aborts, one of other counts, one that keeps a pointer is named.
PROGRAM_DIR: folders with NAME.pte and NAME.forward.0.in.I.npy; default: the fixtures of this repository. Needs executorch 1.5,
torch and numpy. Exits with 0 if all is as expected, 1 if not, 2 for wrong arguments.
"""
import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = [ROOT / "tests/fixtures" / name for name in ("programs", "xnnpack", "xnnpack_models")]
OFFICIAL, OURS = b"XnnpackBackend", b"EtbXnnpackHere"  # of one length: the program is changed in place


def programs_of(folders, limit):
    found = [p for folder in folders for p in sorted(folder.glob("*.pte")) if OFFICIAL in p.read_bytes()]
    return found[:limit] if limit else found


def inputs_of(program):
    count = len(list(program.parent.glob(f"{program.stem}.forward.0.in.*.npy")))
    return [program.parent / f"{program.stem}.forward.0.in.{i}.npy" for i in range(count)]


def run_here(build, program, inputs):
    with tempfile.TemporaryDirectory() as out:
        command = [build / "bin/etbackend", "run", program, "--output-dir", out]
        for path in inputs:
            command += ["--input", path]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("etbackend run: " + done.stderr.strip())
        return [np.load(p) for p in sorted(pathlib.Path(out).glob("*.npy"), key=lambda p: int(p.stem))]


def run_there(code, inputs):
    """Also returns a function that runs once more."""
    import torch
    from executorch.runtime import Runtime

    program = Runtime.get().load_program(code)
    method = program.load_method("forward")
    tensors = [torch.from_numpy(np.load(p) if isinstance(p, pathlib.Path) else p) for p in inputs]
    outputs = [o.numpy().copy() for o in method.execute(tensors)]
    return outputs, lambda: (program, method.execute(tensors))


def same_bits(a, b):
    return len(a) == len(b) and all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b))


def is_close(a, b):
    """Kernels of both run times round differently; quantised programs then differ by a step."""
    return len(a) == len(b) and all(x.shape == y.shape and np.abs(x.astype(np.float64) - y).max(initial=0) <= 1e-3 * max(1, np.abs(y).max(initial=0)) for x, y in zip(a, b))


def load_bridge(build, **environment):
    """Loads the bridge into this process. Python's os.environ reaches it through setenv."""
    os.environ.update(environment)
    bridge = ctypes.CDLL(str(build / "lib/libetbackend_executorch.so"))
    bridge.etb_bridge_name.restype = bridge.etb_bridge_last_error.restype = ctypes.c_char_p
    return bridge


def compare_programs(build, programs, name):
    """Compares each program, with its delegate id replaced by `name`. Returns the number of differences."""
    wrong = close = 0
    for program in programs:
        try:
            inputs = inputs_of(program)
            code = program.read_bytes().replace(OFFICIAL, name)
            found, expected = run_there(code, inputs)[0], run_here(build, program, inputs)
            if same_bits(found, expected):
                continue
            # Operators outside of delegates run on the kernels of the run time, which round differently.
            if b"aten::" not in code or not is_close(found, expected):
                raise RuntimeError("other bits than etbackend run")
            close += 1
        except Exception as error:  # noqa: BLE001  (any error is a difference)
            wrong += 1
            print(f"  {program.stem}: {error}")
    print(f"  {len(programs) - wrong - close} of {len(programs)} programs give the bits of etbackend run; {close} that also use kernels are close, {wrong} differ", flush=True)
    return wrong


def median_us(call, rounds=21, calls=2000):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return sorted(times)[rounds // 2]


def check_late(build, programs):
    bridge = load_bridge(build, ETB_BRIDGE_ALIASES=f"{OURS.decode()}={OFFICIAL.decode()}")
    if bridge.etb_bridge_name(0) != OURS:
        raise RuntimeError(f"the bridge registered {bridge.etb_bridge_name(0)} first, expected {OURS}")
    wrong = compare_programs(build, programs, OURS)
    smallest = min(programs, key=lambda p: p.stat().st_size)
    code, inputs = smallest.read_bytes(), inputs_of(smallest)
    official, bridged = (median_us(run_there(c, inputs)[1]) for c in (code, code.replace(OFFICIAL, OURS)))
    print(f"  one call of {smallest.stem} from Python: official {official:.2f} us, bridge {bridged:.2f} us")
    return wrong


def check_template(build, _):
    load_bridge(build)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "add.pte"
        command = [build / "bin/etbackend", "compile", ROOT / "tests/fixtures/archives/add.pt2", "-b", "my_npu", "-o", program]
        subprocess.run(command, check=True, capture_output=True)
        if b"MyNpuBackend" not in program.read_bytes():
            raise RuntimeError("etbackend compile gave the plugin nothing")
        inputs = sorted((ROOT / "tests/fixtures/archives").glob("add.in.*.npy"))
        if not same_bits(run_there(program.read_bytes(), inputs)[0], run_here(build, program, inputs)):
            raise RuntimeError("other bits than etbackend run")
    print("  the program of my_npu gives the bits of etbackend run")
    return 0


def plugin_folder(folder, library):
    """A folder with one broken plugin and its manifest, as tests of the registry have it."""
    content = library.read_bytes()
    (folder / library.name).write_bytes(content)
    entry = {"os": "linux", "arch": platform.machine(), "path": library.name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest = {"manifest_version": 1, "id": "com.example.broken", "version": "1.2.3", "vendor": "Example", "provides": [{"id": "BrokenBackend"}],
                "abi": {"min": "1.0", "max": "1.0", "profiles": ["runtime"]}, "libraries": [entry]}
    (folder / "plugin.json").write_text(json.dumps(manifest))
    os.chmod(folder, 0o755)


def run_broken(build, library, runs, environment):
    program = ROOT / "tests/fixtures/xnnpack/abs.pte"
    with tempfile.TemporaryDirectory() as name:
        plugin_folder(pathlib.Path(name), library)
        load_bridge(build, ETBACKEND_PATH=name, ETB_BRIDGE_ALIASES=f"{OURS.decode()}=BrokenBackend", **environment)
        again = run_there(program.read_bytes().replace(OFFICIAL, OURS), inputs_of(program))[1]
        for _ in range(runs):
            again()


BROKEN = [  # library, further runs, environment, what the log must have
    ("aborts_in_execute", 0, {}, "SIGABRT in plugin 'com.example.broken', delegate 'BrokenBackend', function execute"),
    ("good", 0, {}, "plugin 'com.example.broken', delegate 'BrokenBackend': the program passes 2 arguments, the plugin expects 0 inputs"),
    ("keeps_pointers", 1, {"ETB_BRIDGE_VALIDATE": "1"}, "plugin, delegate.execute"),
]


def in_child(function, *args):
    """Runs a function in a fork. Returns its exit code and what it wrote; a crash is a code below 0."""
    with tempfile.TemporaryFile() as log:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            code = 1
            try:
                code = 1 if function(*args) else 0
            except BaseException:  # noqa: BLE001  (the parent prints it)
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        log.seek(0)
        return code, log.read().decode(errors="replace")


def check_broken(build, libraries):
    wrong = 0
    for name, runs, environment, expected in BROKEN:
        library = libraries / f"{name}.so"
        code, log = in_child(run_broken, build, library, runs, environment)
        is_named = expected in log
        wrong += not is_named
        print(f"  {name}: {'named' if is_named else 'NOT named, expected: ' + expected} (exit code {code})", flush=True)
        if not is_named:
            print(log)
    return wrong


def report(name, result):
    code, log = result
    print(f"{name}: {'ok' if code == 0 else 'FAILED, exit code ' + str(code)}\n{log if code else log[log.find('  '):].rstrip()}", flush=True)
    return code != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder, configured with ETB_BRIDGE_EXECUTORCH")
    parser.add_argument("programs", type=pathlib.Path, nargs="*", default=FIXTURES, help="folders of programs")
    parser.add_argument("--broken", type=pathlib.Path, help="folder of the libraries of tests/broken_plugins")
    parser.add_argument("--limit", type=int, default=0, help="at most so many programs")
    parser.add_argument("--preloaded", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    build = args.build.resolve()
    library = build / "lib/libetbackend_executorch.so"
    if not library.exists():
        parser.error(f"no {library}: configure with -DETB_BRIDGE_EXECUTORCH and build etb_bridge_executorch")
    programs = programs_of(args.programs, args.limit)
    if not programs:
        parser.error("no program with XNNPACK in these folders")
    os.environ["ETBACKEND_PATH"] = str(build / "plugins.d")
    if args.preloaded:
        bridge = load_bridge(build)
        names = [bridge.etb_bridge_name(i) for i in range(8)]
        if OFFICIAL not in names:
            raise RuntimeError(f"the bridge registered {names}, expected {OFFICIAL} among them")
        return compare_programs(build, programs, OFFICIAL) != 0
    from executorch.runtime import Runtime

    Runtime.get()  # the run time, with its own backends, is there before the bridge
    failed = report("late", in_child(check_late, build, programs))
    failed += report("template", in_child(check_template, build, programs))
    command = [sys.executable, __file__, build, *args.programs, "--preloaded", "--limit", str(args.limit)]
    done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    failed += report("preload", (done.returncode, done.stdout))
    broken = args.broken or build / "tests/broken_plugins/libraries"
    if all((broken / f"{row[0]}.so").exists() for row in BROKEN):
        print("broken:")
        failed += check_broken(build, broken)
    else:
        print(f"broken: skipped, no {broken}/*.so (ninja broken_plugins_test builds them)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
