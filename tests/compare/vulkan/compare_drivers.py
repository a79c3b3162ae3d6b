# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of the official Vulkan exporter on several drivers, with our plugin and with the official run time.

    python tests/compare/vulkan/compare_drivers.py ETBACKEND DIR --driver NAME=FILE.json [--driver NAME=FILE.json ...] [--official PEER LIBRARY] [--plugin-path FOLDER]
        [--keep FOLDER] [--rows FILE] [--page docs/vulkan.md] [--only PATTERN]

A driver is the JSON file that the Vulkan loader reads, with the name of a column. Programs, inputs, errors and --keep are those of compare_vulkan.py. --rows stores results and does not repeat those that are there.
Cells are the largest error, or in a word why there is none; --rows has the reasons. --page rewrites the table of a page, and the sentences about it. Needs torch and executorch.
"""
import argparse
import fnmatch
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import compare_vulkan

BEGIN, END = "<!-- drivers -->\n", "<!-- end of drivers -->"


def environment_of(file):
    # Older loaders read the second name only.
    return {"VK_DRIVER_FILES": file, "VK_ICD_FILENAMES": file, "ETBACKEND_PLUGIN_CACHE": "off"}


def check_device(args, name, file):
    """Prints the device of a driver. Ends if there is not exactly one: without its driver a column would have another one's figures."""
    path = ["--plugin-path", args.plugin_path] if args.plugin_path else []
    done = subprocess.run([args.etbackend, "list", "--devices", *path], capture_output=True, text=True, env=compare_vulkan.environment_with(environment_of(file)))
    found = [line.strip() for line in done.stdout.splitlines() if line.startswith("    device") and ("llvmpipe" in line or "SwiftShader" in line)]
    print(f"{name}: {'; '.join(found)}", flush=True)
    if len(found) != 1:
        sys.exit(f"{name}: expected one device of Vulkan, found {len(found)}\n{done.stdout}{done.stderr}")


def word_of(result):
    """The cell of a result."""
    if not isinstance(result, str):
        return compare_vulkan.written(result)
    for start, word in (("SIG", "ends the process"), ("WRONG", "wrong"), ("no result within", "too long")):
        if result.startswith(start):
            return word
    return "does not run"


def names_of(found):
    return ", ".join(f"`{name}`" for name in found) or "none"


def sentences(driver, rows):
    """What a driver's columns show."""
    here = {name for name, cells in rows if not isinstance(cells[driver][0], str)}
    lines = [f"{driver}: {len(here)} of {len(rows)} run here"]
    if len(rows[0][1][driver]) == 1:
        return lines[0] + "."
    both = [(name, *cells[driver]) for name, cells in rows if not any(isinstance(cell, str) for cell in cells[driver])]
    larger = [f"`{name}` ({compare_vulkan.written(a)} here, {compare_vulkan.written(b)} there)" for name, a, b in both if a > b]
    there = sum(not isinstance(cells[driver][1], str) for _, cells in rows)
    ends = [[name for name, cells in rows if word_of(cells[driver][side]) == "ends the process"] for side in (0, 1)]
    return (
        f"{lines[0]}, {there} on the official run time, {len(both)} on both. The error here is no larger in {len(both) - len(larger)} of these"
        + (", but in " + ", ".join(larger) if larger else "")
        + f". Ends the process here: {names_of(ends[0])}; there: {len(ends[1])}."
    )


def text_of(rows, drivers, sides):
    head = ["model"] + [f"{driver}, {side}" for driver in drivers for side in sides]
    lines = [sentences(driver, rows) for driver in drivers] + ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, cells in rows:
        lines.append(f"| {name} | " + " | ".join(word_of(cell) for driver in drivers for cell in cells[driver]) + " |")
    return "\n".join(lines) + "\n"


def measure(args, path, keep, drivers):
    """Results of a model for each driver; None if the exporter has no program or no region."""
    program, counts = compare_vulkan.make_program(args, path, keep)
    if program is None or counts[0] == 0:
        return None
    inputs = compare_vulkan.inputs_of(path.parent, path.stem)
    expected = compare_vulkan.expected_results(path, inputs)
    made = {}
    for driver, file in drivers.items():
        environment = environment_of(file)
        runners = [compare_vulkan.ours(args, environment)] + ([compare_vulkan.official(args, environment)] if args.official else [])
        made[driver] = [compare_vulkan.result_of(runner, program, inputs, expected, args.run_seconds) for runner in runners]
    return made


def main():
    parser = argparse.ArgumentParser()
    compare_vulkan.add_options(parser)
    parser.add_argument("--driver", action="append", required=True, metavar="NAME=FILE.json")
    args = parser.parse_args()
    args.plugin = "vulkan"
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    drivers = dict(driver.split("=", 1) for driver in args.driver)
    for name, file in drivers.items():
        check_device(args, name, file)
    rows, finished = [], json.loads(args.rows.read_text()) if args.rows and args.rows.exists() else {}
    with tempfile.TemporaryDirectory() as work:
        keep = args.keep or pathlib.Path(work)
        for path in sorted(args.folder.glob("*.pt2")):
            if not fnmatch.fnmatch(path.stem, args.only):
                continue
            if path.stem not in finished:
                finished[path.stem] = measure(args, path, keep, drivers)
                if args.rows:
                    args.rows.write_text(json.dumps(finished))
            if finished[path.stem]:
                rows.append((path.stem, finished[path.stem]))
                print(path.stem, *(word_of(cell) for driver in drivers for cell in finished[path.stem][driver]), sep=" | ", flush=True)
    text = text_of(rows, drivers, ["here"] + (["official run time"] if args.official else []))
    print(text)
    if args.page:
        before, rest = args.page.read_text().split(BEGIN)
        args.page.write_text(before + BEGIN + text + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
