# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/networks.md, from what survey_networks.py found."""
import json

from network import GROUPS

BEGIN, END = "<!-- networks: begin (survey_networks.py) -->", "<!-- networks: end -->"


def load(folder):
    records = [json.loads(path.read_text()) for path in sorted((folder / "survey").glob("*.json"))]
    failures = [{"name": path.name.removesuffix(".failed"), **json.loads(path.read_text())} for path in sorted(folder.glob("*.failed"))]
    return records, failures


def outcome(found):
    """None where nothing ran, else whether a program computed PyTorch's numbers."""
    return None if found is None else "error" not in found


def ours(record, place, backend):
    found = record[backend]
    return False if "error" in found else outcome(found.get(place))


def official(record, place):
    facts = record["official"]
    return outcome(facts.get(place)) if facts and "kind" in facts else None


def official_here(record):
    """Counts only programs that are right on their own run time."""
    return official(record, "here") if official(record, "there") else None


def word(value):
    return {None: "-", True: "yes", False: "no"}[value]


def is_lowered(record):
    return record["official"] is not None and record["official"].get("kind") == "xnnpack"


def left(record):
    """Exported nodes of which a part is left to portable kernels, ours and officially, and all of them; None where a side cannot tell."""
    if "left" in record:
        return record["left"]
    if not is_lowered(record) or "error" in record["xnnpack"] or not record["official"]["xnnpack"]["names"]:
        return None
    names = record["official"]["xnnpack"]["names"]
    here = {names[handle - 1] for handle in record["xnnpack"]["handles_left"] if handle <= len(names)}
    return len(here), len(record["official"]["xnnpack"]["names_left"]), len(set(names))


def with_counts(record):
    """The record with counts of nodes instead of their names."""
    counts = json.loads(json.dumps({**record, "left": left(record)}))
    counts["xnnpack"].pop("handles_left", None)
    for facts in (counts["official"] or {}).values():
        if isinstance(facts, dict):
            facts.pop("names", None)
            facts.pop("names_left", None)
    return counts


def delegation(record):
    """Regions and left nodes: ours, then officially."""
    if "error" in record["xnnpack"]:
        return "-", "-"
    counted = left(record)
    here = f"{record['xnnpack']['regions']}, {counted[0] if counted else '?'}"
    if not is_lowered(record):
        return here, "not tried" if record["official"] is None else "fails"
    return here, f"{record['official']['xnnpack']['regions']}, {counted[1] if counted else '?'}"


def share(values):
    values = [value for value in values if value is not None]
    return f"{sum(values)} of {len(values)}"


def summary(records):
    yield ("| group | networks | right, portable | right, XNNPACK | our program on the official run time, portable | XNNPACK | official flow lowers for XNNPACK | "
           "its program right on its run time | such a program right here | exported nodes left to portable kernels: ours | officially |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for group in (*GROUPS, "all"):
        rows = [record for record in records if group in (record["group"], "all")]
        if not rows:
            continue
        counts = [found for found in map(left, rows) if found is not None]
        here, there, nodes = (sum(found[i] for found in counts) for i in range(3))
        tried = [record for record in rows if record["official"] is not None]
        cells = [group, str(len(rows)), *(share(ours(record, "here", backend) for record in rows) for backend in ("portable", "xnnpack")),
                 *(share(ours(record, "there", backend) for record in rows) for backend in ("portable", "xnnpack")),
                 share(map(is_lowered, tried)), share(official(record, "there") for record in tried), share(map(official_here, tried)),
                 f"{here} of {nodes}", f"{there} of {nodes}"]
        yield "| " + " | ".join(cells) + " |"


def table(records):
    yield ("| network | what it represents | right, portable | right, XNNPACK | ours, official run time: portable, XNNPACK | official program, its run time | the same here | "
           "regions and left nodes, ours | officially |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for record in sorted(records, key=lambda record: (GROUPS.index(record["group"]), record["name"])):
        there = ", ".join(word(ours(record, "there", backend)) for backend in ("portable", "xnnpack"))
        mark = " (random)" if record["remark"] else ""
        cells = [record["name"] + mark, record["cause"], *(word(ours(record, "here", backend)) for backend in ("portable", "xnnpack")), there,
                 word(official(record, "there")), word(official_here(record)), *delegation(record)]
        yield "| " + " | ".join(cells) + " |"


def quoted(text):
    return f"`{text[:160].replace('`', chr(39))}`"


def first_error(*found):
    return next((facts["error"] for facts in found if facts and "error" in facts), None)


def misses(records):
    for record in records:
        for backend in ("portable", "xnnpack"):
            fault = first_error(record[backend], record[backend].get("here"))
            if fault:
                yield f"- {record['name']}, {backend}: {quoted(fault)}"
    for record in records:
        if record["remark"]:
            yield f"- {record['name']}: only sizes and types are compared, because it {record['remark']}"


def reasons(found):
    """Texts with the names of those they concern, the most frequent first."""
    names = {}
    for name, text in found:
        names.setdefault(text, []).append(name)
    for text, concerned in sorted(names.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f" and {len(concerned) - 6} more" if len(concerned) > 6 else ""
        yield f"- {len(concerned)}: {quoted(text)}: {', '.join(concerned[:6])}{more}"


def official_failures(records):
    for record in records:
        facts = record["official"]
        if facts is None:
            continue
        if not is_lowered(record):
            yield record["name"], "refused: " + facts["xnnpack"]["error"]
        if official(record, "there") is False:
            yield record["name"], "on its own run time: " + facts["there"]["error"].partition(" of ")[0]


def there_failures(records):
    for record in records:
        found = record["portable"]
        if "error" in found.get("there", {}) and "error" not in found["here"]:
            yield record["name"], found["there"]["error"].partition(" of ")[0]


def write(folder, document):
    records, failures = load(folder)
    tried = sum(record["official"] is not None for record in records)
    parts = [f"{len(records)} networks; the official flow was tried on {tried} of them.", "", *summary(records), "", "## Misses", "", *misses(records), "",
             "## What the official flow and run time cannot do", "", "Our portable programs on the official run time:", "", *reasons(there_failures(records)), "",
             "The official flow:", "", *reasons(official_failures(records)), "", "## What PyTorch cannot export", "",
             *reasons((failure["name"], failure["error"]) for failure in failures), "", "## Network by network", "", *table(records)]
    before, rest = document.read_text().split(BEGIN)
    document.write_text(before + BEGIN + "\n" + "\n".join(parts) + "\n" + END + rest.split(END)[1])
