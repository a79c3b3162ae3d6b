# SPDX-License-Identifier: Apache-2.0
"""Exchanges bundled programs (.bpte) with the official tools: each side reads and verifies the files of the other.

    python tests/peer/check_bundled.py ETBACKEND [--plugin-path DIR] [--tolerance 1e-3] [FOLDER ...]

Needs the executorch wheel, torch and numpy. Two tables:
  official files   tests/fixtures/bundles/*.bpte, made by the official BundledProgram: `etbackend run` and the official run time must give
                   the same verdict for each test case.
  programs         FOLDER/NAME.pte with NAME.METHOD.CALL.in.I.npy and .out.I.npy (default: the fixtures of this repository). Each becomes a
                   bundle twice: by `etbackend bundle` and by the official BundledProgram, from the same inputs and PyTorch's outputs. The
                   official run time must pass ours, `etbackend run` must pass the official one, and both must fail a third one, whose
                   first expected number is wrong. A program that the official tools refuse is skipped with their error.
Ends with 1 if a verdict differs. The official side runs in a process of its own, because it aborts on some files.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
OFFICIAL = """
import json, sys
from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer
for line in sys.stdin:
    path, method, index, tolerance = json.loads(line)
    try:
        bundle = _load_bundled_program_from_buffer(open(path, "rb").read())  # a new one: each case begins with the initial state
        bundle.verify_result_with_bundled_expected_output(method, index, tolerance, tolerance)
        verdict = "pass"
    except RuntimeError as error:
        verdict = "fail" if "verification failed" in str(error) else "error: " + str(error)
    print("verdict", json.dumps(verdict), flush=True)
"""


class Official:
    """The official run time in a process, which is started again when a file ends it."""

    process = None

    def verify(self, path, cases, tolerance):
        """The verdict of each case: pass, fail, or an error."""
        return [self.verify_case(path, method, index, tolerance) for method, index in cases]

    def verify_case(self, path, method, index, tolerance):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-c", OFFICIAL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        print(json.dumps([str(path), method, index, tolerance]), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("verdict "):
                return json.loads(line[len("verdict "):])
        code = self.process.wait()
        self.process = None
        return f"died with {code}"


class Here:
    def __init__(self, etbackend, plugin_paths):
        self.command = [etbackend, *[word for folder in plugin_paths for word in ("--plugin-path", folder)]]

    def verify(self, path, tolerance):
        """The verdict of each case by (method, index)."""
        done = subprocess.run([*self.command, "run", str(path), "--rtol", str(tolerance), "--atol", str(tolerance), "--json"], capture_output=True, text=True)
        if not done.stdout:
            return {None: "error: " + done.stderr.strip().splitlines()[0]}
        return {(case["method"], case["index"]): case["verdict"] for case in json.loads(done.stdout)["cases"]}

    def bundle(self, program, calls, path):
        words = []
        for method, inputs, outputs in calls:
            words += ["--case"] if words else []
            words += ["--method", method] + [w for p in inputs for w in ("--input", p)] + [w for p in outputs for w in ("--expect", p)]
        done = subprocess.run([*self.command, "bundle", str(program), *map(str, words), "-o", str(path)], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[0]


def bundle_officially(program, calls, path, dtypes):
    import torch
    from executorch.devtools import BundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

    suites = defaultdict(list)
    for (method, inputs, outputs), (in_dtypes, out_dtypes) in zip(calls, dtypes):
        def tensors(paths, names):
            return [torch.from_numpy(np.load(p)).to(getattr(torch, name)) if name else np.load(p).item() for p, name in zip(paths, names)]

        suites[method].append(MethodTestCase(inputs=tensors(inputs, in_dtypes), expected_outputs=tensors(outputs, out_dtypes)))
    rows = [MethodTestSuite(method_name=name, test_cases=cases) for name, cases in suites.items()]
    bundle = BundledProgram(None, rows, pte_file_path=str(program))
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))


def calls_of(program):
    """(method, inputs, outputs) of call 0 of each method: later calls may need the state of the first."""
    calls = []
    for first in sorted(program.parent.glob(f"{program.stem}.*.0.out.0.npy")):
        method = first.name.split(".")[1]
        stem = f"{program.stem}.{method}.0"
        files = {kind: sorted(program.parent.glob(f"{stem}.{kind}.*.npy"), key=lambda p: int(p.name.split(".")[-2])) for kind in ("in", "out")}
        calls.append((method, files["in"], files["out"]))
    return calls


def dtypes_of(here, program, calls):
    """The dtypes of the program: a .npy file has float32 where the method has bfloat16."""
    report = json.loads(subprocess.run([*here.command, "info", str(program), "--json"], check=True, capture_output=True).stdout)
    methods = {method["name"]: method for method in report["methods"]}
    return [tuple([value.get("dtype") for value in methods[method][kind]] for kind in ("inputs", "outputs")) for method, _, _ in calls]


def with_a_wrong_number(calls, folder):
    """The same calls, where the first element of the first output of the first call is wrong."""
    method, inputs, outputs = calls[0]
    array = np.load(outputs[0]).copy()
    if array.size == 0:
        return None
    flat = array.reshape(-1)
    flat[0] = not flat[0] if array.dtype == bool else flat[0] + 100
    wrong = Path(folder) / "wrong.npy"
    np.save(wrong, array)
    return [(method, inputs, [wrong, *outputs[1:]])]


def check_official_files(here, there, tolerance):
    wrong = 0
    print("| official file | cases | official verdicts | etbackend run |\n|---|---|---|---|")
    for path in sorted((ROOT / "tests/fixtures/bundles").glob("*.bpte")):
        ours = here.verify(path, tolerance)
        cases = sorted(key for key in ours if key is not None)
        theirs = dict(zip(cases, there.verify(path, cases, tolerance)))
        # A case without expected outputs does not pass there.
        same = bool(cases) and all(theirs[key] == ours[key] or ours[key] == "not_verified" and theirs[key] != "pass" for key in cases)
        wrong += not same
        print(f"| {path.stem} | {len(cases)} | {', '.join(theirs.values())} | {', '.join(ours.values())} {'' if same else 'DIFFERS'} |", flush=True)
    return wrong


def check_program(here, there, program, tolerance):
    """Returns the three verdicts that must be pass, pass, fail fail."""
    calls = calls_of(program)
    if not calls:
        return "skipped: no recorded outputs"
    with tempfile.TemporaryDirectory() as folder:
        ours, official, bad = (Path(folder) / name for name in ("ours.bpte", "official.bpte", "bad.bpte"))
        cases = [(method, 0) for method, _, _ in calls]
        try:
            bundle_officially(program, calls, official, dtypes_of(here, program, calls))
        except AssertionError as error:
            error_here = here.bundle(program, calls, ours)
            return f"skipped: the official BundledProgram refuses it: {error}; here " + (error_here or ", ".join(here.verify(ours, tolerance).values()))
        accepted = there.verify(official, cases, tolerance)
        if error := here.bundle(program, calls, ours):
            return f"etbackend bundle FAILED: {error}"
        back = list(here.verify(official, tolerance).values()) + list(here.verify(ours, tolerance).values())
        if set(accepted) == {"fail"} == set(back):
            return "both fail: PyTorch's numbers differ by more than the tolerance"
        if any(verdict != "pass" for verdict in accepted):
            return f"skipped: the official run time on its own bundle: {', '.join(accepted)}; here {', '.join(back)}"
        if any(verdict != "pass" for verdict in back):
            return f"etbackend run on the official bundle and on ours: {back}"
        found = there.verify(ours, cases, tolerance)
        if any(verdict != "pass" for verdict in found):
            return f"the official run time on our bundle: {found}"
        wrong = with_a_wrong_number(calls, folder)
        if wrong is None:
            return "both pass (no element to change)"
        if error := here.bundle(program, wrong, bad):
            return f"etbackend bundle FAILED: {error}"
        verdicts = there.verify(bad, [(wrong[0][0], 0)], tolerance) + list(here.verify(bad, tolerance).values())
        return "both pass, both fail the wrong one" if verdicts == ["fail", "fail"] else f"a wrong number: officially {verdicts[0]}, here {verdicts[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "tests/fixtures" / name for name in ("programs", "xnnpack")])
    parser.add_argument("--plugin-path", action="append", default=[])
    parser.add_argument("--tolerance", type=float, default=1e-3)
    options = parser.parse_intermixed_args()
    here = Here(options.etbackend, options.plugin_path)
    there = Official()
    wrong = check_official_files(here, there, options.tolerance)
    print("\n| program | result |\n|---|---|")
    counts = defaultdict(int)
    for program in [p for folder in options.folders for p in sorted(folder.glob("*.pte"))]:
        try:
            result = check_program(here, there, program, options.tolerance)
        except Exception as error:  # noqa: BLE001  (any error is a result)
            result = f"ERROR: {type(error).__name__}: {str(error).splitlines()[0]}"
        counts[result if result.startswith("both") else result.split(":")[0] if result.startswith("skipped") else "other"] += 1
        print(f"| {program.parent.name}/{program.stem} | {result} |", flush=True)
    print(f"\n{', '.join(f'{count}: {name}' for name, count in counts.items())}; official files that differ: {wrong}")
    return 1 if wrong or counts["other"] else 0


if __name__ == "__main__":
    sys.exit(main())
