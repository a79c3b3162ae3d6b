#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the networks of export_networks.py here and by the official flow, and runs each program on both run times.

usage: survey_networks.py ETBACKEND DIR [--official] [--only REGEX] [--again REGEX] [--jobs N] [--results FILE]
                          [--docs FILE]

Compiles each DIR/NAME.pt2 for portable kernels and for XNNPACK, and compares what both run times compute with PyTorch. With --official
the official flow lowers the archive, too: for XNNPACK, or for portable kernels where that fails; its program runs on both run times. Each
step is a process of its own, at most 120 seconds of it. DIR/survey/NAME.json keeps the result: a later call goes on where an earlier one stopped, and repeats what changed
with --again, keeping official programs. --results FILE takes records of FILE, one a line, for networks without a result in DIR, and writes
all of them back after each network, so that another machine goes on. --docs FILE writes the tables between the marks of FILE. Needs torch and executorch.
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


def survey_ours(etbackend, paths):
    record = {"name": paths.name, **json.loads(paths.row.read_text()), "official": None}
    with tempfile.TemporaryDirectory() as temporary:
        for backend in ("portable", "xnnpack"):
            program = pathlib.Path(temporary) / f"{backend}.pte"
            found = steps.compile_here(etbackend, paths.archive, program, backend, record.get("bounds", ()))
            if "error" not in found:
                found["here"] = steps.run_here(paths.folder, paths.name, program, etbackend)
                found["there"] = steps.in_child(steps.run_there, paths.folder, paths.name, program)
            record[backend] = found
    return record


def survey(etbackend, paths, is_new, compares_official):
    record = survey_ours(etbackend, paths) if is_new else json.loads(paths.survey.read_text())
    if compares_official:
        record["official"] = lower(paths)
        if "kind" in record["official"]:
            record["official"]["here"] = steps.run_here(paths.folder, paths.name, paths.official, etbackend)
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


def take_results(folder, results):
    """Records of an earlier survey, perhaps on another machine."""
    for line in results.read_text().splitlines() if results.exists() else ():
        record = json.loads(line)
        path = folder / "survey" / f"{record['name']}.json"
        if not path.exists():
            path.write_text(line)


def write_results(folder, results):
    import network_table
    records = [network_table.with_counts(json.loads(path.read_text())) for path in sorted((folder / "survey").glob("*.json"))]
    new = results.with_suffix(".new")
    new.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in records))
    new.replace(results)


def in_turns(todo):
    """Small archives first, and the groups in turns, so that a survey that stops early has seen all of them."""
    counts = {}

    def turn(item):
        group = json.loads(item[0].row.read_text())["group"]
        counts[group] = counts.get(group, 0) + 1
        return counts[group]

    by_size = sorted(todo, key=lambda item: item[0].archive.stat().st_size)
    return [item for _, item in sorted(((turn(item), item) for item in by_size), key=lambda pair: pair[0])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etbackend")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--official", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--again")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    options = parser.parse_args()
    for name in ("survey", "official"):
        (options.folder / name).mkdir(exist_ok=True)
    os.nice(5)
    if options.results:
        take_results(options.folder, options.results)
    todo = []
    for path in options.folder.glob("*.json"):
        paths = Paths(options.folder, path.stem)
        is_new = not paths.survey.exists() or (options.again is not None and re.search(options.again, paths.name) is not None)
        if re.search(options.only, paths.name) and (is_new or (options.official and json.loads(paths.survey.read_text())["official"] is None)):
            todo.append((paths, is_new))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(survey, options.etbackend, paths, is_new, options.official) for paths, is_new in in_turns(todo)]
        for future in concurrent.futures.as_completed(running):
            record = future.result()
            print(f"{record['name']}: {sentence(record)}", flush=True)
            if options.results:
                write_results(options.folder, options.results)
    if options.docs:
        import network_table
        network_table.write(options.folder, options.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
