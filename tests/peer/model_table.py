#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the list of models of docs/compiling.md from what compare_compiled.py recorded.

usage: model_table.py RECORDS [DOCUMENT]

RECORDS has a line of JSON for each model and backend (compare_compiled.py ... --official --records=RECORDS, once without a backend and once
with --backend=xnnpack; of several lines about one model the last counts). Prints the list, or puts it between the two
marks of DOCUMENT. Needs nothing but Python.
"""
import json
import pathlib
import sys

from compare_verdicts import judge

BEGIN, END = "<!-- models: begin (model_table.py) -->", "<!-- models: end -->"


def load(path):
    models = {}
    for line in pathlib.Path(path).read_text().splitlines():
        record = json.loads(line)
        models.setdefault(record["name"], {})[record["backend"]] = record
    return models


def word(side, place):
    """yes, no, or - where there is nothing to run."""
    if side is None or side.get("compiled") or place not in side:
        return "-"
    return "yes" if side[place] is None else "no"


def cell(records, side, place):
    return " ".join(word(records[backend].get(side) if backend in records else None, place) for backend in ("", "xnnpack"))


def counts(record, side):
    """Exported nodes that are left to portable kernels, then the side's own nodes: delegated and left."""
    found = (record or {}).get(side, {})
    if "left" not in found:
        return "refused"
    own = f"{found['delegated']}, {found['left']}"
    return f"**{found['source_left']}**; {own}" if "source_left" in found else own


def rows(models):
    yield "| model | ours = PyTorch | ours, official run time | official program, official run time | the same here | exported nodes | left, ours | officially |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, records in sorted(models.items()):
        delegated = records.get("xnnpack")
        yield (f"| {name} | {cell(records, 'ours', 'here')} | {cell(records, 'ours', 'there')} | {cell(records, 'official', 'there')} | "
               f"{cell(records, 'official', 'here')} | {delegated['official'].get('source', '-')} | {counts(delegated, 'ours')} | {counts(delegated, 'official')} |")


def left_in_all(models):
    both = [records["xnnpack"] for records in models.values() if "source_left" in records.get("xnnpack", {}).get("ours", {})]
    ours, theirs, all_ = (sum(record[side][key] for record in both) for side, key in (("ours", "source_left"), ("official", "source_left"), ("official", "source")))
    yield f"- of the {all_} exported nodes of the {len(both)} models that both sides partition, {ours} are left to portable kernels here, {theirs} officially"


def reasons(models):
    for name, records in sorted(models.items()):
        for backend, record in sorted(records.items()):
            side = record.get("official", {})
            what = ("refused: " + side["compiled"]) if side.get("compiled") else ("on its own run time: " + side["there"]) if side.get("there") else None
            if what:
                yield f"- {name}, {backend or 'portable'}: `{what[:150].replace('`', chr(39))}`"


def summary(models):
    totals = {}
    for records in models.values():
        for backend, record in records.items():
            for kind, fault in judge(record).items():
                good, all_ = totals.get((backend or "portable", kind), (0, 0))
                totals[backend or "portable", kind] = (good + (fault is None), all_ + 1)
    for backend in ("portable", "xnnpack"):
        yield f"- {backend}: " + ", ".join(f"{kind} {good} of {all_}" for (of, kind), (good, all_) in totals.items() if of == backend)


def main():
    models = load(sys.argv[1])
    text = "\n".join([f"{len(models)} models; two words in a cell are portable kernels and XNNPACK.", "", *summary(models), *left_in_all(models), "", *rows(models), "",
                      "Failures of the official side, in its own words:", "", *reasons(models)])
    if len(sys.argv) < 3:
        print(text)
        return 0
    document = pathlib.Path(sys.argv[2])
    before, rest = document.read_text().split(BEGIN)
    after = rest.split(END)[1]
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
