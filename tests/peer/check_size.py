# SPDX-License-Identifier: Apache-2.0
"""Compares `etbackend size`, `etbackend diff-program` and the delegation text of `etbackend compile --report` with the
official tools of the executorch wheel: size_analysis_tool, diff_pte, print_delegation_info, get_delegation_info.

usage: check_size.py --build BUILD [--work DIR]

Exit code 1 if a figure differs that both tools state about the same thing.
"""

import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.backend_debug import get_delegation_info, print_delegation_info
from executorch.devtools.pte_tool.diff_pte import diff_pte
from executorch.devtools.size_analysis_tool.size_analysis_tool import generate_model_size_information
from executorch.exir import to_edge_transform_and_lower
from executorch.exir._serialize._program import deserialize_pte_binary


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x):
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


class Branches(torch.nn.Module):
    """Several results, some of them left to portable kernels."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x):
        y = torch.relu(self.first(x))
        values, _ = torch.topk(y, 2)
        return self.second(y), values, torch.cumsum(y, 0)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.block = torch.nn.Sequential(torch.nn.Conv2d(8, 8, 3, padding=1, groups=8), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1))

    def forward(self, x):
        return self.block(torch.relu(self.stem(x))).mean((2, 3), keepdim=True)


class Tied(torch.nn.Module):
    """Two equal parameters: duplicates that the official tool does not report."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.second.load_state_dict(self.first.state_dict())

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


MODELS = {"mlp": (Mlp, (2, 4)), "branches": (Branches, (2, 4)), "convolutions": (Convolutions, (1, 3, 8, 8)), "tied": (Tied, (2, 4))}


class Checks:
    def __init__(self):
        self.rows, self.failed = [], 0

    def equal(self, model, what, ours, official):
        is_equal = ours == official
        self.failed += not is_equal
        self.rows.append((model, what, short(ours), short(official), "equal" if is_equal else "DIFFERENT"))

    def print(self):
        print("| model | what | ours | official | |\n|---|---|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


def short(value):
    text = json.dumps(value) if not isinstance(value, str) else value.splitlines()[0] + f" ... ({len(value.splitlines())} lines)"
    return (text if len(text) <= 60 else text[:57] + "...").replace("|", "\\|")


def run(program, *words, codes=(0,)):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def check_sizes(checks, name, program, archive, exported):
    ours = json.loads(run(program, "size", archive, "--json"))
    official = generate_model_size_information(exported)
    checks.equal(name, "bytes of tensors", ours["overview"]["total_tensor_data_size"], official["overview"]["total_tensor_data_size"])

    def rows(report):
        return sorted((row["name"], row["numel"], row["dtype"], row["element_size"], tuple(row["shape"]), row["num_bytes"]) for row in report["tensor_data"])

    checks.equal(name, "rows of tensor_data", rows(ours), rows(official))


def named_keys(path):
    data = deserialize_pte_binary(path.read_bytes()).named_data
    return set(data.pte_data) if data else set()


def check_difference(checks, name, program, first, second):
    ours = json.loads(run(program, "diff-program", first, second, "--json", codes=(0, 1)))
    official = diff_pte(first.read_bytes(), second.read_bytes(), str(first), str(second))
    checks.equal(name, "equal bytes", ours["are_bytes_equal"], official.bitwise_equal)
    method = ours.get("methods", [{}])[0] if ours.get("methods") else {}
    plan = official.plan_diffs[0] if official.plan_diffs else None
    for key, empty in (("operators_only_in_a", []), ("operators_only_in_b", []), ("delegates_only_in_a", []), ("delegates_only_in_b", []),
                       ("non_const_buffer_sizes_a", None), ("non_const_buffer_sizes_b", None), ("value_count_a", None), ("value_count_b", None),
                       ("instruction_count_a", None), ("instruction_count_b", None)):
        checks.equal(name, key, method.get(key, empty), getattr(plan, key) if plan else empty)
    # diff_pte looks for named data where its reader has left none, so its reader is asked.
    keys = {side: named_keys(path) for side, path in (("a", first), ("b", second))}
    for side, other in ("ab", "ba"):
        checks.equal(name, f"named data only in {side}", ours.get(f"named_data_only_in_{side}", []), sorted(keys[side] - keys[other]))


def check_constants(checks, name, program, first, second):
    """Two programs of equal structure: the same tensors differ, by the same numbers."""
    ours = json.loads(run(program, "diff-program", first, second, "--json", codes=(0, 1)))
    official = diff_pte(first.read_bytes(), second.read_bytes(), str(first), str(second))
    figures = [(row["num_elements"], row["num_differing"], f"{row['max_abs_diff']:.6g}", f"{row['mean_abs_diff']:.4g}")
               for method in ours.get("methods", []) for row in method.get("constants", [])]
    theirs = [(diff.num_elements, diff.num_differing, f"{diff.max_abs_diff:.6g}", f"{diff.mean_abs_diff:.4g}")
              for plan in official.plan_diffs for diff in plan.tensor_diffs if diff.bytes_differ]
    checks.equal(name, "constants that differ", sorted(figures), sorted(theirs))


def check_delegation(checks, name, program, archive, plugins, work, lowered):
    report_file = work / "report.json"
    text = run(program, "--plugin-path", plugins, "compile", archive, "-b", "xnnpack", "-o", work / "ours.pte", "--report", "--report-json", report_file)
    end = text.index("╛\n") + 2
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_delegation_info(lowered.exported_program().graph_module)
    start = text.index("Total delegated subgraphs")
    checks.equal(name, "text of the delegation", text[start:end], printed.getvalue())
    report = json.loads(report_file.read_text())
    ours, official = report["delegation_info"][0], get_delegation_info(lowered.exported_program().graph_module)
    for figure in ("num_delegated_subgraphs", "num_delegated_nodes", "num_non_delegated_nodes"):
        checks.equal(name, figure, ours[figure], getattr(official, figure))
    checks.equal(name, "get_delegation_info by operator", {op: (counts["delegated"], counts["non_delegated"]) for op, counts in sorted(ours["delegation_by_operator"].items())},
                 {op: (counts.delegated, counts.non_delegated) for op, counts in sorted(official.delegation_by_operator.items())})
    # The official tool has no reasons: each node that stays must have one here, in the text, too.
    left = [node for graph in report["graphs"] for node in graph["nodes"] if node["region"] is None]
    checks.equal(name, "nodes without a reason", [node["name"] for node in left if not all(refusal["reason"] for refusal in node["refusals"]) or not node["refusals"]], [])
    checks.equal(name, "nodes that the text lacks", [node["name"] for node in left if node["name"] not in text[end:]], [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path)
    args = parser.parse_args()
    program, plugins = args.build / "bin" / "etbackend", args.build / "plugins.d"
    work = args.work or pathlib.Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    programs = {}
    for name, (make, shape) in MODELS.items():
        for seed in (0, 1):
            torch.manual_seed(seed)
            exported = torch.export.export(make().eval(), (torch.randn(shape),))
            archive = work / f"{name}{seed}.pt2"
            torch.export.save(exported, archive)
            portable = to_edge_transform_and_lower(exported).to_executorch()
            lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
            for kind, made in (("portable", portable), ("xnnpack", lowered.to_executorch())):
                programs[name, kind, seed] = work / f"{name}_{kind}{seed}.pte"
                programs[name, kind, seed].write_bytes(made.buffer)
            if seed == 0:
                check_sizes(checks, name, program, archive, exported)
                lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
                check_delegation(checks, name, program, archive, plugins, work, lowered)
        check_difference(checks, f"{name}: portable, XNNPACK", program, programs[name, "portable", 0], programs[name, "xnnpack", 0])
        check_difference(checks, f"{name}: itself", program, programs[name, "portable", 0], programs[name, "portable", 0])
        check_constants(checks, f"{name}: other weights", program, programs[name, "portable", 0], programs[name, "portable", 1])
    check_difference(checks, "mlp, tied", program, programs["mlp", "portable", 0], programs["tied", "portable", 0])
    checks.print()
    print(f"\n{len(checks.rows)} figures, {checks.failed} different")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
