#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the networks of export_networks.py here and by the official flow, and runs each program on both run times.

usage: survey_networks.py ETBACKEND DIR [--official] [--only REGEX] [--again REGEX] [--jobs N] [--docs FILE]

Compiles each DIR/NAME.pt2 for portable kernels and for XNNPACK, and compares what both run times compute with PyTorch. With --official
the official flow lowers the archive, too: for XNNPACK, or for portable kernels where that fails; its program runs on both run times. Each
step is a process of its own, at most 120 seconds of it. DIR/survey/NAME.json keeps the result: a later call goes on where an earlier one stopped, and repeats what changed
with --again, keeping official programs. --docs FILE writes the tables between the marks of FILE. Needs torch and executorch.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import tempfile

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported, for its children, too
import survey_steps as steps  # noqa: E402


class Paths:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.archive = folder / f"{name}.pt2"
        self.row = folder / f"{name}.json"
        self.survey = folder / "survey" / f"{name}.json"
        self.official = folder / "official" / f"{name}.pte"
        self.official_facts = folder / "official" / f"{name}.json"


def official_lower(*arguments):
    import official_flow
    return official_flow.lower(*arguments)


def lower(paths):
    """The official program, which is made once: facts about it, or its error."""
    if paths.official_facts.exists():
        return json.loads(paths.official_facts.read_text())
    facts = {}
    for backend in ("xnnpack", "portable"):
        facts[backend] = steps.in_child(official_lower, paths.archive, paths.official, backend)
        if "error" not in facts[backend]:
            facts["kind"] = backend
            facts["there"] = steps.in_child(steps.run_there, paths.folder, paths.name, paths.official)
            break
    paths.official_facts.write_text(json.dumps(facts))
    return facts


def survey(etbackend, folder, name, compares_official):
    paths = Paths(folder, name)
    record = {"name": name, **json.loads(paths.row.read_text()), "official": None}
    with tempfile.TemporaryDirectory() as temporary:
        for backend in ("portable", "xnnpack"):
            program = pathlib.Path(temporary) / f"{backend}.pte"
            found = steps.compile_here(etbackend, paths.archive, program, backend)
            if "error" not in found:
                found["here"] = steps.run_here(folder, name, program, etbackend)
                found["there"] = steps.in_child(steps.run_there, folder, name, program)
            record[backend] = found
        if compares_official:
            official = lower(paths)
            record["official"] = official
            if "kind" in official:
                official["here"] = steps.run_here(folder, name, paths.official, etbackend)
    paths.survey.write_text(json.dumps(record))
    return record


def sentence(record):
    faults = []
    for backend in ("portable", "xnnpack"):
        found = record[backend]
        fault = found.get("error") or found["here"].get("error")
        if fault:
            faults.append(f"{backend}: {fault}")
    return "; ".join(faults) or "right"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--official", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--again")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--docs", type=pathlib.Path)
    options = parser.parse_args()
    for name in ("survey", "official"):
        (options.folder / name).mkdir(exist_ok=True)
    names = sorted(p.stem for p in options.folder.glob("*.json") if re.search(options.only, p.stem))

    def is_known(name):
        path = Paths(options.folder, name).survey
        if not path.exists() or (options.again is not None and re.search(options.again, name)):
            return False
        return not options.official or json.loads(path.read_text())["official"] is not None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        todo = [name for name in names if not is_known(name)]
        running = {pool.submit(survey, options.etbackend, options.folder, name, options.official): name for name in todo}
        for future in concurrent.futures.as_completed(running):
            print(f"{running[future]}: {sentence(future.result())}", flush=True)
    if options.docs:
        import network_table
        network_table.write(options.folder, options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
