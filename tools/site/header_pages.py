#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each public C header, and for the C++ API of applications: its declarations with their comments.

usage: header_pages.py INCLUDE_DIR OUTPUT_DIR      INCLUDE_DIR holds etb/
"""
import html
import pathlib
import re
import sys

# The headers of the reference, by reader. Every header of etb/ is in one of these lists, or the run fails.
GROUPS = {
    "Applications": ["etbackend.h", "module.h", "registry.h", "library.h", "cpp/module.hpp"],
    "Plugins": ["plugin.h", "device.h", "delegate.h", "aot.h", "graph.h", "payload.h", "option.h", "layer.h",
                "static_plugins.h"],
    "Both": ["all.h", "base.h", "status.h", "tensor.h", "host.h", "version.h"],
}
NO_PAGE = {"graph_inline.h"}  # bodies of the inline functions of graph.h
# The words that begin a labelled line of a function's comment (docs/contributing.md, header_comments_test).
LABEL = re.compile(r"^([a-z_][\w, ]{0,22}?)  +(\S.*)$")
NAME = re.compile(r"#define\s+(\w+)|(?:struct|class|enum class|enum)\s+(\w+)[^;()]*$|typedef\s+[^(]*?(\w+);|"
                  r"(~?\w+)\(")


class Item:
    """A comment with the code below it, up to an empty line."""

    def __init__(self, comment, code):
        self.comment, self.code = comment, code

    def name(self):
        text = "\n".join(self.code)
        closing = re.search(r"^\} (\w+);", text, re.M)  # typedef struct {...} name;
        if closing:
            return closing.group(1)
        call = re.search(r"ETB_CALL\*\s*(\w+)\)", text)  # a typedef of a function pointer
        if call:
            return call.group(1)
        for line in self.code:
            match = NAME.search(line.split("//")[0])
            if match:
                return next(group for group in match.groups() if group)
        return ""


def is_guard(line):
    return bool(re.match(r"#(ifndef|define) ETB_\w*_H_$|#endif.*_H_|#include|#pragma once|#ifdef __cplusplus|#endif", line))


def read_items(lines):
    """Splits a header into its opening comment and its items."""
    opening, items, at = [], [], 0
    while at < len(lines) and lines[at].startswith("//"):
        opening.append(lines[at][2:].removeprefix(" "))
        at += 1
    comment, code, depth = [], [], 0
    for line in lines[at:] + [""]:
        if depth == 0 and not line.strip():
            if any(not is_guard(row) for row in code):
                items.append(Item(comment, code))
            elif comment and not code:
                items.append(Item(comment, []))
            comment, code = [], []
        elif depth == 0 and not code and line.startswith("//"):
            comment.append(line[2:].removeprefix(" "))
        elif re.match(r'extern "C" \{|\}  // (extern|namespace)|namespace [\w:]+ \{$|\}$', line) and depth == 0:
            continue
        elif not (depth == 0 and is_guard(line)):
            code.append(line)
            bare = re.sub(r'//.*|"[^"]*"', "", line)
            depth += bare.count("{") - bare.count("}")
    return opening, items


def escape(text):
    """Escapes what Markdown or HTML would interpret, outside of `code`."""
    parts = text.split("`")
    return "`".join(part if i % 2 else re.sub(r"([*_|\[\]#])", r"\\\1", html.escape(part, quote=False))
                    for i, part in enumerate(parts))


def render_comment(lines):
    """Paragraphs, rows of a table for labelled lines, and blocks for indented lines."""
    out, paragraph, rows, block = [], [], [], []

    def flush():
        if paragraph:
            out.extend([escape(" ".join(paragraph)), ""])
        if rows:
            out.extend(["| | |", "|---|---|"] + [f"| **{escape(name)}** | {escape(text)} |" for name, text in rows] + [""])
        if block:
            while block and not block[-1].strip():
                block.pop()
            out.extend(["```c"] + [line[2:] for line in block] + ["```", ""])
        paragraph.clear(), rows.clear(), block.clear()

    for line in lines:
        label = LABEL.match(line)
        if block and not line.strip():
            block.append("")
        elif not line.strip():
            flush()
        elif rows and line.startswith("         "):
            rows[-1] = (rows[-1][0], rows[-1][1] + " " + line.strip())
        elif line.startswith("  "):
            if not block:
                flush()
            block.append(line)
        elif label:
            if not rows:
                flush()
            rows.append(label.groups())
        elif re.match(r"^-+ .* -+$|^-{4,}", line):
            flush()
            out.extend(["## " + line.strip("- "), ""])
        else:
            if rows or block:
                flush()
            paragraph.append(line)
    flush()
    return out


def render_page(name, text):
    lines = [line for line in text.splitlines() if "SPDX-License-Identifier" not in line]
    opening, items = read_items(lines)
    out = [f"# etb/{name}", ""] + render_comment(opening)
    for item in items:
        title = item.name()
        if item.code and title:
            out.extend([f"### `{title}`", ""])
        out.extend(render_comment(item.comment))
        if item.code:
            out.extend(["```cpp" if name.endswith("hpp") else "```c"] + item.code + ["```", ""])
    return "\n".join(out).rstrip() + "\n"


def main():
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__.strip() if "-h" in sys.argv[1:] or "--help" in sys.argv[1:] else "usage: header_pages.py INCLUDE_DIR OUTPUT_DIR")
    include, output = pathlib.Path(sys.argv[1]) / "etb", pathlib.Path(sys.argv[2])
    listed = {header for headers in GROUPS.values() for header in headers}
    found = {path.name for path in include.glob("*.h")} - NO_PAGE
    if found - listed or any(not (include / header).exists() for header in listed):
        sys.exit(f"header_pages.py: GROUPS lists other headers than {include} has: "
                 f"{sorted(found - listed) or sorted(h for h in listed if not (include / h).exists())}")
    output.mkdir(parents=True, exist_ok=True)
    index = ["# C and C++ API", "", "Look up a function, type or constant. These pages are made from the comments of the headers, which are the specification.", ""]
    for group, headers in GROUPS.items():
        index += [f"## {group}", "", "| header | what it is for |", "|---|---|"]
        for header in headers:
            page = header.replace("/", "_").replace(".", "_") + ".md"
            text = (include / header).read_text()
            (output / page).write_text(render_page(header, text))
            opening, _ = read_items([line for line in text.splitlines() if "SPDX" not in line])
            purpose = " ".join("\n".join(opening).strip().split("\n\n")[0].split())
            index.append(f"| [etb/{header}]({page}) | {escape(purpose)} |")
        index.append("")
    (output / "index.md").write_text("\n".join(index))
    pages = [header.replace("/", "_").replace(".", "_") + ".md" for headers in GROUPS.values() for header in headers]
    (output / "pages.txt").write_text("\n".join(pages) + "\n")  # for the navigation
    print(f"{len(listed)} headers")


if __name__ == "__main__":
    main()
