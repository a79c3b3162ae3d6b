# SPDX-License-Identifier: Apache-2.0
"""Compares our runtime with the official C++ runtime: same files, same processor core, runs in pairs.

    python tests/compare/runtime/compare_runtime.py --build build/release [--models] [--api host|c|cpp] [--applications] [--pairs 9] [--json FILE] [--docs FILE] [MODEL.pte ...]

Needs the executorch wheel (its libraries, headers and CMake package), cmake 3.28 or newer and a C++ compiler; builds both sides, the peer in a temporary
folder. Besides the given files it makes some with the official exporter: a chain of 200 additions of one-element tensors (time per
instruction), where our XNNPACK plugin was built an addition of 8 floats lowered to XNNPACK (overhead of a delegate call), and with --models
MobileNetV2, ResNet-18 and a GPT of 6 layers on portable kernels (models.py). Both sides run on one core, so with one thread.
--api c and cpp measure our side as applications have it: libetbackend, through the C API or the C++ header over it.
--applications compares only the addition of 8 floats, through each of the three ways.
Prints a table. Each number is the median over pairs, whose order alternates; a ratio is the median of the pairs' own ratios, official / ours:
above 1 we are ahead. --docs rewrites the section "Run time" of a page, or with --applications "Small calls".
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
METRICS = {"load_us": "load + init, us", "start_us": "process start to first result, us", "run_us": "one run, us", "peak_rss_kb": "peak memory, KB"}
SECTION = """## Run time

The table compares with the official C++ runtime of the executorch {version} wheel (its own libraries): the same file, one core, one
thread, processes in alternating order, medians of {pairs} pairs ({model_pairs} of the networks). A ratio above 1 means that ours is faster or smaller. Both
sides are release builds; {cpu}, {cores} cores.

- `load + init` is repeated in one process. "Process start to first result" includes the first load of a process, with the search for
  plugins and everything before main. Our side finds the plugin, checks the digest of its library and opens it; the official program
  is linked with its backend.
- `chain_200` is 200 additions of one-element tensors, `xnnpack_add_8` one delegate call on 8 floats; the networks run on portable kernels.

```sh
cmake --preset release
python tests/compare/runtime/compare_runtime.py --build {build} {flags}
```

{table}

{core_size} (`cmake --build {build} --target core_size`: the core with its verifier, without kernels, linked with `-Os`.)
"""


WAYS = {"c": "C API (`etb_module_call`)", "cpp": "C++ header (`etb::Module`), outputs as a vector", "host": "static libraries (`etb::host::Module`)"}
SMALL_CALLS = """## Small calls

The cost of a call beside its work, for one delegate call of XNNPACK on 8 floats, with the inputs set and the output read each time. The
official C++ runtime of the executorch {version} wheel runs the same file on the same core; processes alternate, and each figure is the median of {pairs} pairs.
A ratio above 1 means that ours is faster. {cpu}, {cores} cores.

```sh
cmake --preset package -B {build} -DETB_BUILD_BENCHMARKS=ON
python tests/compare/runtime/compare_runtime.py --build {build} {flags}
```

{table}
"""


def build_peer(folder):
    import executorch

    package = Path(list(executorch.__path__)[0])
    build = folder / "peer"
    configure = ["cmake", "-S", HERE / "peer", "-B", build, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={package}/share/cmake"]
    subprocess.run(list(map(str, configure)), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build)], check=True, stdout=subprocess.DEVNULL)
    return build / "peer"


def make_small_programs(folder, with_delegate):
    import torch
    from executorch.exir import to_edge, to_edge_transform_and_lower

    class Chain(torch.nn.Module):
        def forward(self, x, y):
            for _ in range(200):
                x = x + y
            return x

    class Add(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    chain = folder / "chain_200.pte"
    one = torch.ones(1)
    chain.write_bytes(to_edge(torch.export.export(Chain(), (one, one))).to_executorch().buffer)
    programs = [chain]
    if with_delegate:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        eight = torch.ones(8)
        exported = torch.export.export(Add(), (eight, eight))
        delegated = folder / "xnnpack_add_8.pte"
        delegated.write_bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
        programs.append(delegated)
    return programs


def make_models(folder):
    import torch
    from executorch.exir import to_edge

    sys.path.insert(0, str(HERE))
    import models

    for name, module, example in models.all_models():
        program = folder / f"{name}.pte"
        program.write_bytes(to_edge(torch.export.export(module.eval(), (example,))).to_executorch().buffer)
        yield program


def build_ours(build, api):
    """Our program, and the size of the core as its target prints it."""
    program = "compare_runtime_ours" if api == "host" else "compare_runtime_application"
    targets = [program, "core_size"]
    result = subprocess.run(["cmake", "--build", build, "--target", *targets], check=True, capture_output=True, text=True)
    size = re.search(r"core at -Os: (\d+) bytes", result.stdout)
    return Path(build).resolve() / "bin" / program, int(size[1])


def busy_seconds():
    """What all processors did so far, for whomever, and what a hypervisor took away."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def measure(command):
    """What the command prints, and how many processors others kept busy meanwhile."""
    environment = dict(os.environ, COMPARE_START_NS=str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
    before, begin = busy_seconds(), os.times()
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    after, end = busy_seconds(), os.times()
    if result.returncode != 0:
        raise SystemExit(f"{command[0]} {command[1]}: {result.stderr.strip()[-500:]}")
    own = sum(end[:4]) - sum(begin[:4])
    measured = json.loads(result.stdout.strip().splitlines()[-1])
    return dict(measured, others_busy=max(0.0, (after - before - own) / (end.elapsed - begin.elapsed)))


def compare(program, ours, peer, options, pairs):
    loads = options.loads if Path(program).stat().st_size < 1 << 20 else 5
    samples = []
    for i in range(pairs):
        arguments = [plugins_of(options.build)] + ([] if options.api == "host" else [options.api])
        commands = {"ours": [ours, program, loads, options.seconds, *arguments], "theirs": [peer, program, loads, options.seconds]}
        order = ["ours", "theirs"] if i % 2 == 0 else ["theirs", "ours"]
        samples.append({side: measure(commands[side]) for side in order})
    row = {"program": Path(program).stem, "pairs": pairs}
    for metric in METRICS:
        row[metric] = {
            "ours": statistics.median(pair["ours"][metric] for pair in samples),
            "theirs": statistics.median(pair["theirs"][metric] for pair in samples),
            "ratio": statistics.median(pair["theirs"][metric] / pair["ours"][metric] for pair in samples),
        }
    return row


def plugins_of(build):
    return Path(build).resolve() / "plugins.d"


def lines_of(row):
    def line(what, value, factor=1.0):
        return f"| {row['program']} | {what} | {value['ours'] * factor:.5g} | {value['theirs'] * factor:.5g} | {value['ratio']:.3g} |"

    lines = [line(what, row[metric]) for metric, what in METRICS.items()]
    if row["program"] == "chain_200":
        lines.append(line("one instruction, ns", row["run_us"], 1000 / 200))
    return lines


def cpu_name():
    match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return match[1] if match else os.uname().machine


def write_section(page, text):
    """Replaces the section with the title of the text, or adds it at the end."""
    path = Path(page)
    old = path.read_text() if path.exists() else "# Performance\n"
    title = re.escape(text.splitlines()[0])
    found = re.search(rf"^{title}\n.*?(?=^## |\Z)", old, re.M | re.S)
    new = old[: found.start()] + text + ("\n" if old[found.end():] else "") + old[found.end():] if found else old.rstrip("\n") + "\n\n" + text
    path.write_text(new)


def compare_applications(options):
    """One small call, through each way that an application has."""
    lines = ["| ours through | ours, ns | official, ns | official / ours |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = build_peer(folder)
        program = make_small_programs(folder, True)[-1]
        programs = {way: build_ours(options.build, way)[0] for way in WAYS}
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # this process and its children
        for way, text in WAYS.items():
            options.api = way
            row = compare(program, programs[way], peer, options, options.pairs)["run_us"]
            lines.append(f"| {text} | {row['ours'] * 1000:.0f} | {row['theirs'] * 1000:.0f} | {row['ratio']:.2f} |")
            print(lines[-1], flush=True)
    if not options.docs:
        return
    from importlib.metadata import version

    write_section(options.docs, SMALL_CALLS.format(
        version=version("executorch"), pairs=options.pairs, build=options.build, cpu=cpu_name(), cores=os.cpu_count(),
        flags=f"--applications --docs {options.docs}", table="\n".join(lines)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="folder of our build, the release preset's")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--model-pairs", type=int, default=3, help="pairs of what runs for seconds")
    parser.add_argument("--loads", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--api", choices=["host", "c", "cpp"], default="host", help="how our side calls the library (default: the classes of etb::host)")
    parser.add_argument("--applications", action="store_true", help="compare only a small call, through each way that an application has")
    parser.add_argument("--json")
    parser.add_argument("--docs", help="page whose section 'Run time' is rewritten")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    if options.applications:
        if not any(plugins_of(options.build).glob("*xnnpack*")):
            raise SystemExit(f"--applications: no XNNPACK plugin in {plugins_of(options.build)}")
        return compare_applications(options)
    ours, core_nbytes = build_ours(options.build, options.api)
    lines = ["| program | what | ours | official | official / ours |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = build_peer(folder)
        has_xnnpack = any(plugins_of(options.build).glob("*xnnpack*"))
        jobs = [(p, options.pairs) for p in make_small_programs(folder, has_xnnpack) + options.programs]
        jobs += [(p, options.model_pairs) for p in make_models(folder)] if options.models else []
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # this process and its children
        for program, pairs in jobs:
            rows.append(compare(program, ours, peer, options, pairs))
            lines += lines_of(rows[-1])
            print("\n".join(lines_of(rows[-1])), flush=True)
    core_size = f"The core is {core_nbytes} bytes of text."
    print(core_size)
    if options.json:
        Path(options.json).write_text(json.dumps({"machine": cpu_name(), "core_text_nbytes": core_nbytes, "rows": rows}, indent=1) + "\n")
    if options.docs:
        from importlib.metadata import version

        flags = " ".join((["--models"] if options.models else []) + ["--docs", options.docs])
        write_section(options.docs, SECTION.format(
            version=version("executorch"), pairs=options.pairs, model_pairs=options.model_pairs, build=options.build, cpu=cpu_name(),
            cores=os.cpu_count(), flags=flags, table="\n".join(lines), core_size=core_size))


if __name__ == "__main__":
    main()
