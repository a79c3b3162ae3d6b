#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each command of the program, from `etbackend help --json`.

usage: command_pages.py ETBACKEND OUTPUT_DIR
"""
import html
import json
import pathlib
import subprocess
import sys


def escape(text):
    return html.escape(text, quote=False).replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


def option_name(option):
    value = option.get("value", "")
    names = ", ".join(f"`{name}`" for name in option["names"])
    return f"{names} `{value}`".replace("|", "\\|") if value else names


def option_tables(options):
    groups = {}
    for option in options:
        groups.setdefault(option.get("group") or "Options", []).append(option)
    out = []
    for group, rows in groups.items():
        out += [f"## {group}", "", "| option | effect |", "|---|---|"]
        out += [f"| {option_name(row)} | {escape(row['description'])} |" for row in rows]
        out.append("")
    return out


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def command_page(program, command):
    out = [f"# etbackend {command['name']}", "", escape(command["description"]) + ".", ""]
    usage = [line.removeprefix("Usage: ") for line in run(program, "help", command["name"]).splitlines() if line.startswith("Usage: ")]
    out += ["```text", *usage, "```", ""]
    for argument in command.get("arguments", []):
        out += [f"- `{argument['names'][0]}`: {escape(argument['description'])}"]
    out.append("")
    examples = command.get("examples", [])
    if examples:
        out += ["## Examples", "", "```sh"]
        out += [*examples, "```", ""]
    return out + option_tables(command.get("options", []))


def main():
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit("usage: command_pages.py ETBACKEND OUTPUT_DIR")
    program, output = sys.argv[1], pathlib.Path(sys.argv[2])
    facts = json.loads(run(program, "help", "--json"))
    output.mkdir(parents=True, exist_ok=True)
    index = ["# Commands", "", "Look up a command or an option. These pages are made from the option tables that `--help` prints;",
             "[the command line](../../command_line.md) has what all commands share.", ""]
    groups = {}
    for command in facts["commands"]:
        groups.setdefault(command.get("group") or "Commands", []).append(command)
        (output / f"{command['name']}.md").write_text("\n".join(command_page(program, command)))
    for group, commands in groups.items():
        index += [f"## {group}", "", "| command | what it does |", "|---|---|"]
        index += [f"| [{c['name']}]({c['name']}.md) | {escape(c['description'])} |" for c in commands] + [""]
    (output / "index.md").write_text("\n".join(index + ["## Options of all commands", ""] +
                                               [line.replace("## ", "### ") for line in option_tables(facts["options"])]))
    names = "".join(f"{command['name']}.md\n" for commands in groups.values() for command in commands)
    (output / "pages.txt").write_text(names)  # for the navigation
    print(f"{len(facts['commands'])} commands")


if __name__ == "__main__":
    main()
