# SPDX-License-Identifier: Apache-2.0
"""Compares our XNNPACK plugin with the official runtime and its XNNPACK delegate: same files, same machine, runs in pairs.

    python tests/compare/xnnpack/compare_xnnpack.py --build build/release --models DIR [--threads 1 2] [--pairs 5] [--docs FILE] [--json FILE] [NAME ...]

DIR holds NAME.pt2 as tests/peer/make_zoo.py --full writes them; NAME.official.pte, what the official exporter makes of it for XNNPACK, is written
beside it when it is not there. Needs the executorch wheel (its libraries, headers and CMake package), cmake 3.28 or newer and a C++ compiler.

For each model and thread count: the official file on both runtimes, and, where our compiler's file differs in what it delegates, ours on our
runtime against theirs on the official one. Times are medians over pairs of processes in alternating order; a ratio is the median of the pairs'
own ratios, ours / official: below 1 we are ahead. `load` is opening the file and making the method ready, the first time in a process that
has loaded a small program for XNNPACK before; `cached` is the same with packed weights that an earlier process left on disk. `islands` is 100 delegate calls that alternate with a portable kernel.
A machine is seldom quiet for long: --json keeps what was measured, and --rows reads such files again, instead of measuring those models.
"""

import argparse
import hashlib
import json
import math
import mmap
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST = HERE.parents[1] / "fixtures/xnnpack/linear.pte"
sys.path.insert(0, str(HERE.parent / "runtime"))
import compare_runtime  # noqa: E402

SECTION = """## XNNPACK

The table compares with the official C++ runtime of the executorch {version} wheel and its XNNPACK delegate (the wheel's libraries). Each row is {pairs}
pairs of processes in alternating order, after one pair that is not counted. Times are medians; a ratio is the median of the pairs' ratios, ours /
official, so below 1 ours is faster or smaller. Our side is the build `{build}`, with a stripped plugin; {cpu}, {cores} cores.

- `official` is the official exporter's file on both runtimes. `ours` is our compiler's file on our runtime against the official file on the
  official runtime.
- `load` opens the file and makes the method ready, in a process that has loaded a small program for XNNPACK before. `cached` is `load` with weights
  that an earlier process packed (`packed_cache_path`).
- Before each process another one allocates and touches as much memory. Otherwise, on a virtual machine that returns free memory to its host, the
  first process to allocate waits for it.
- Libraries and models of both sides are read from the disk again beforehand, whole and in order. The kernel maps a file differently when it was
  just written, or was read page by page.

```sh
python tests/compare/xnnpack/compare_xnnpack.py --build {build} --models DIR {flags}
```

{table}

{summary}
"""


def make_official(archive, program):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    exported = torch.export.load(archive)
    program.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


def make_islands(folder):
    """100 additions for the delegate between 100 signs, which it does not take; and the signs alone."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    class Islands(torch.nn.Module):
        def __init__(self, has_islands):
            super().__init__()
            self.has_islands = has_islands

        def forward(self, x, y):
            for _ in range(100):
                x = torch.sign(x + y if self.has_islands else x)
            return x if self.has_islands else x + y

    eight = torch.ones(8)
    made = []
    for name, has_islands in (("islands", True), ("signs", False)):
        program = folder / f"{name}.pte"
        exported = torch.export.export(Islands(has_islands), (eight, eight))
        program.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
        made.append(program)
    return made


def touch_memory(nbytes):
    """Takes memory from the system in large pieces and gives it back: what is taken next comes from there."""
    with mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, nbytes, mmap.PAGESIZE):
            memory[at] = 1


def measure(command):
    touch_memory((64 << 20) + os.path.getsize(command[1]) * 5 // 4)
    return compare_runtime.measure(command)


def measure_pairs(ours, theirs, pairs, patience=0):
    """One pair goes ahead and does not count. `patience` pairs at most are measured again because others used more than a tenth of a
    processor meanwhile."""
    samples = []
    commands = {"ours": ours, "theirs": theirs}
    for command in commands.values():
        measure(command)
    while len(samples) < pairs:
        order = ("ours", "theirs") if len(samples) % 2 == 0 else ("theirs", "ours")
        pair = {side: measure(commands[side]) for side in order}
        if patience > 0 and max(side["others_busy"] for side in pair.values()) > 0.1:
            patience -= 1
            continue
        samples.append(pair)
    return samples


def value(samples, metric):
    return {
        "ours": statistics.median(pair["ours"][metric] for pair in samples),
        "theirs": statistics.median(pair["theirs"][metric] for pair in samples),
        "ratio": statistics.median(pair["ours"][metric] / pair["theirs"][metric] for pair in samples),
    }


def installed_plugin(built, folder):
    """The plugin as packages have it: without debug information."""
    folder.mkdir()
    library = folder / "xnnpack.so"
    subprocess.run(["strip", "-o", library, built / "xnnpack.so"], check=True)
    manifest = json.loads((built / "xnnpack.json").read_text())
    content = library.read_bytes()
    manifest["libraries"][0].update(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
    (folder / "xnnpack.json").write_text(json.dumps(manifest))
    return folder


def read_from_disk(files):
    """A library that was just written counted half a megabyte more in a process than the same one read from the disk. What a process maps and nobody
    read before comes from the disk page by page, and stays in the page cache so: then mapping a model takes as long as packing its weights, on both sides.
    """
    os.sync()
    for file in files:
        with open(file, "rb", buffering=0) as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            stream.readall()


class Comparison:
    def __init__(self, options, folder):
        import executorch

        self.options, self.folder = options, folder
        self.ours = Path(options.build).resolve() / "bin" / "compare_runtime_ours"
        self.plugins = installed_plugin(compare_runtime.plugins_of(options.build), folder / "plugins")
        self.peer = compare_runtime.build_peer(folder)
        official = Path(list(executorch.__path__)[0]) / "lib"
        read_from_disk([self.ours, self.plugins / "xnnpack.so", self.peer, *official.glob("*.so")])
        self.rows = []

    def command(self, side, program, threads, cache=""):
        loads, seconds = 1, self.options.seconds
        if side == "ours":
            return [self.ours, program, loads, seconds, self.plugins, threads, cache, FIRST]
        return [self.peer, program, loads, seconds, threads, FIRST]

    def compare(self, name, which, ours, theirs, threads):
        official = self.command("theirs", theirs, threads)
        plain = measure_pairs(self.command("ours", ours, threads), official, self.options.pairs, self.options.patience)
        row = {"model": name, "file": which, "threads": threads}
        row.update({metric: value(plain, metric) for metric in ("run_us", "min_run_us", "cold_load_us", "peak_rss_kb")})
        with tempfile.TemporaryDirectory(dir=self.folder) as cache:
            cached = self.command("ours", ours, threads, cache)
            measure(cached)  # fills it
            again = measure_pairs(cached, official, self.options.pairs, self.options.patience)
        row["others_busy"] = max(side["others_busy"] for pair in plain + again for side in pair.values())
        row["cached_load_us"] = value(again, "cold_load_us")
        self.rows.append(row)
        return line_of(row)

    def islands(self):
        programs = make_islands(self.folder)
        times = []
        for program in programs:
            samples = measure_pairs(self.command("ours", program, 1), self.command("theirs", program, 1), max(self.options.pairs, 7))
            times.append(samples)
        calls = [{side: {"call_ns": (a[side]["run_us"] - b[side]["run_us"]) * 10} for side in ("ours", "theirs")} for a, b in zip(*times)]
        return value(calls, "call_ns")


def line_of(row):
    def milliseconds(metric):
        found = row[metric]
        return f"{found['ours'] / 1000:.3g} / {found['theirs'] / 1000:.3g} = **{found['ratio']:.2f}**"

    rss = row["peak_rss_kb"]
    return (f"| {row['model']} | {row['file']} | {row['threads']} | {milliseconds('run_us')} | {milliseconds('cold_load_us')} | "
            f"{milliseconds('cached_load_us')} | {rss['ours'] / 1024:.0f} / {rss['theirs'] / 1024:.0f} = **{rss['ratio']:.2f}** |")


def geomean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summarise(rows, call_ns):
    lines = []
    for file, label in (("official", "Same file"), ("ours", "Our compiler's file against the official one")):
        found = [row for row in rows if row["file"] == file]
        if not found:
            continue
        text = []
        for metric, what in (("run_us", "execute p50"), ("cold_load_us", "load"), ("cached_load_us", "cached load"), ("peak_rss_kb", "peak memory")):
            ratios = [row[metric]["ratio"] for row in found]
            text.append(f"{what}: geometric mean {geomean(ratios):.2f}, worst {max(ratios):.2f}")
        if file == "official":
            again = [row["cold_load_us"]["ours"] / row["cached_load_us"]["ours"] for row in found]
            text.append(f"a cached load is {min(again):.1f} to {max(again):.1f} times as fast as a first one here")
        lines.append(f"{label}: " + "; ".join(text) + ".")
    line = "\n\n".join(lines)
    others = [row["others_busy"] for row in rows if "others_busy" in row]
    if len(others) == len(rows):
        line += f"\n\nWhile a row was measured other processes kept {statistics.median(others):.2f} processors busy in the median, {max(others):.2f} at most."
        if statistics.median(others) > 0.2:
            line += " So the machine was not quiet: times are longer than they need be, and those of as many threads as processors say little."
    if call_ns:
        line += f"\n\nOne call of a delegate among 100 that alternate with a portable kernel: {call_ns['ours']:.0f} ns here, {call_ns['theirs']:.0f} ns there."
    return line


def write_section(page, text):
    path = Path(page)
    old = path.read_text() if path.exists() else "# Performance\n"
    found = re.search(r"^## XNNPACK\n.*?(?=^## |\Z)", old, re.M | re.S)
    path.write_text(old[: found.start()] + text + ("\n" if old[found.end():] else "") + old[found.end():] if found else old.rstrip("\n") + "\n\n" + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="folder of our build")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--patience", type=int, default=0, help="how many pairs of a row to measure again because others kept the machine busy")
    parser.add_argument("--json")
    parser.add_argument("--docs", help="page whose section 'XNNPACK' is rewritten")
    parser.add_argument("--no-islands", action="store_true")
    parser.add_argument("--files", nargs="+", choices=["official", "ours"], default=["official", "ours"], help="whose files are run here")
    parser.add_argument("--rows", nargs="+", default=[], help="files of --json from the same build and machine, whose rows come first")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    targets = ["compare_runtime_ours", "etb_plugin_xnnpack"] + (["etbackend"] if "ours" in options.files else [])
    subprocess.run(["cmake", "--build", options.build, "--target", *targets], check=True, stdout=subprocess.DEVNULL)
    earlier = [json.loads(Path(path).read_text()) for path in options.rows]
    known = [row for found in earlier for row in found["rows"]]
    names = options.names or sorted(path.stem for path in options.models.glob("*.pt2"))
    names = [name for name in names if name not in {row["model"] for row in known}]
    lines = ["| model | file | threads | execute p50, ms | load, ms | cached, ms | peak memory, MB |", "|---|---|---|---|---|---|---|"]
    lines += map(line_of, known)
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as name:
        comparison = Comparison(options, Path(name))
        comparison.rows = known
        for model in names:
            archive, official = options.models / f"{model}.pt2", options.models / f"{model}.official.pte"
            if not official.exists():
                make_official(archive, official)
            ours = Path(name) / f"{model}.pte"
            if "ours" in options.files:
                subprocess.run([Path(options.build) / "bin/etbackend", "compile", archive, "-b", "xnnpack", "-o", ours], check=True, stdout=subprocess.DEVNULL)
            read_from_disk([path for path in (official, ours) if path.exists()])
            for threads in options.threads:
                for which in options.files:
                    lines.append(comparison.compare(model, which, official if which == "official" else ours, official, threads))
                    print(lines[-1], flush=True)
            ours.unlink(missing_ok=True)
        call_ns = next((found["call_ns"] for found in earlier if found["call_ns"]), None)
        if call_ns is None and not options.no_islands:
            call_ns = comparison.islands()
    summary = summarise(comparison.rows, call_ns)
    print(summary)
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": compare_runtime.cpu_name(), "rows": comparison.rows, "call_ns": call_ns}, indent=1) + "\n")
    if options.docs:
        from importlib.metadata import version

        flags = f"--pairs {options.pairs} --seconds {options.seconds} --docs {options.docs}"
        if len(options.files) == 1:
            flags += f" --files {options.files[0]}"
        write_section(options.docs, SECTION.format(version=version("executorch"), pairs=options.pairs, build=options.build, cpu=compare_runtime.cpu_name(),
                                                   cores=os.cpu_count(), flags=flags, table="\n".join(lines), summary=summary))


if __name__ == "__main__":
    main()
