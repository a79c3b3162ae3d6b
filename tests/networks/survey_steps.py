# SPDX-License-Identifier: Apache-2.0
"""The steps of survey_networks.py. Each returns facts, or {"error": text}.

The official side runs in processes that may crash or hang: in_child() forks them from one that has imported torch and executorch.
"""
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peer"))
import compare_compiled  # noqa: E402

SECONDS = 120
# The server of children begins with an empty search path of modules.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["survey_steps", "official_flow"])


def answer_into(pipe, function, arguments):
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            found = function(*arguments)
        except BaseException as error:  # noqa: BLE001  (any failure of the official side is a fact)
            text = (str(error).strip() or "-").splitlines()[0]
            log.seek(0)
            found = {"error": f"{type(error).__name__}: {text}{kernels_of(log.read().decode(errors='replace'))}"[:300]}
        pipe.send(found)


def kernels_of(log):
    """Names the operators of which the official run time's log complains."""
    names = re.findall(r"Missing operator: \[\d+\] (\S+)", log) + re.findall(r"KernelCall failed at instruction \S+ in operator (\S+): ", log)
    return f" ({', '.join(sorted(set(names)))})" if names else ""


def in_child(function, *arguments):
    """What the function returns, in a process of its own."""
    ours, theirs = CHILDREN.Pipe(duplex=False)
    child = CHILDREN.Process(target=answer_into, args=(theirs, function, arguments))
    child.start()
    theirs.close()
    try:
        if not ours.poll(SECONDS):
            return {"error": f"took longer than {SECONDS} seconds"}
        return ours.recv()
    except EOFError:
        child.join()
        return {"error": f"ended by signal {-child.exitcode}" if child.exitcode < 0 else f"exit code {child.exitcode}"}
    finally:
        child.kill()
        child.join()


def run_command(command):
    """A command of etbackend: its messages, or an error."""
    try:
        done = subprocess.run(["nice", "-n", "5", *map(str, command)], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {SECONDS} seconds"}
    if done.returncode < 0 or done.returncode > 128:
        return {"error": f"ended by signal {-done.returncode if done.returncode < 0 else done.returncode - 128}"}
    if done.returncode != 0:
        return {"error": next((line for line in done.stderr.splitlines() if line.startswith("etbackend")), done.stderr.strip())[:400]}
    return {}


def compile_here(etbackend, archive, program, backend, bounds=()):
    report = program.with_suffix(".report")
    options = [option for bound in bounds for option in ("--bound", bound)]
    more = ["-b", backend, "--report-json", report] if backend != "portable" else []
    found = run_command([etbackend, "compile", archive, "-o", program, *options, *more])
    if found or not more:
        return found
    report = json.loads(report.read_text())
    left = {node["debug_handle"] for graph in report["graphs"] for node in graph["nodes"] if node["region"] is None and "debug_handle" in node}
    return {"regions": report["delegated_subgraphs"], "delegated": report["delegated_nodes"], "left": report["non_delegated_nodes"], "handles_left": sorted(left)}


def run_here(folder, name, program, etbackend):
    with tempfile.TemporaryDirectory() as out:
        command = [etbackend, "run", program, "--output-dir", out]
        for i in range(len(compare_compiled.load_arrays(folder, name, "in"))):
            path = compare_compiled.input_file(folder, name, i)
            command += ["--input", path if path.suffix == ".npy" else path.read_text()]
        return run_command(command) or verdict(folder, name, [np.load(path) for path in sorted(pathlib.Path(out).glob("*.npy"), key=lambda path: int(path.stem))])


def run_there(folder, name, program):
    inputs = compare_compiled.load_arrays(folder, name, "in")
    return verdict(folder, name, compare_compiled.run_there(program, inputs, name))


def verdict(folder, name, results):
    row = json.loads((folder / f"{name}.json").read_text())
    wanted = compare_compiled.load_arrays(folder, name, "out")
    fault = compare_compiled.difference(results, wanted, row["tolerance"], least=1e-2, has_numbers=not row["remark"])
    return {"error": fault} if fault else {}
