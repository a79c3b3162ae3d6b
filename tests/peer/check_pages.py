# SPDX-License-Identifier: Apache-2.0
"""Opens the pages that etbackend writes in headless Chromium, and checks them as a reader would use them.

    python tests/peer/check_pages.py ETBACKEND [--plugin-path DIR] [--chromium /usr/bin/chromium] [--shots docs/images]

Needs Chromium and the packages playwright and axe-playwright-python; --shots needs pillow. Each page: no error, no request, rules of
axe-core in light and dark at 1360 and 400 pixels, no horizontal scrolling, print. The graph: keys, search, touch, 10,000 nodes. Model Explorer
reads the exported graph if ai_edge_model_explorer is installed. Prints a row for each check, and ends with 1 if one fails.
"""

import argparse
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "</script><img src=x onerror=alert(1)>"
FRAMES = """async ([steps, factor]) => {
  const view = Page.graphs[0].view, out = [];
  view.fit(true);
  for (const zoom of [factor, 1 / factor])
    for (let i = 0; i < steps; ++i) {
      view.scaleBy(zoom);
      await new Promise(done => requestAnimationFrame(done));
      out.push(view.frameMs);
    }
  return out;
}"""
failures = []


def report(name, is_good, detail=""):
    print(f"{'ok  ' if is_good else 'FAIL'} {name}{': ' + str(detail) if detail != '' else ''}", flush=True)
    if not is_good:
        failures.append(name)


def make_pages(arguments, folder):
    # Pages state the command: without the paths of this machine.
    (folder / "etbackend.toml").write_text(f"plugin-path = {json.dumps(arguments.plugin_path)}\n")

    def etbackend(*words):
        subprocess.run(["etbackend", *map(str, words)], executable=Path(arguments.etbackend).resolve(), check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    zoo = ROOT / "tests/fixtures/zoo"
    (folder / "mobilenet_v2.pt2").write_bytes((zoo / "mobilenet_v2.pt2").read_bytes())
    etbackend("info", "mobilenet_v2.pt2", "--html", "model.html", "--model-explorer", "explorer.json", "--dot", "graph.dot")
    etbackend("compile", "mobilenet_v2.pt2", "-b", "xnnpack", "-o", "mobilenet_v2.pte", "--etrecord", "mobilenet_v2.etrecord", "--report-html", "compile.html", "--skip-op", "aten.mean*")
    etbackend("compile", "mobilenet_v2.pt2", "-b", "xnnpack", "-o", "other.pte", "--report-html", "other.html")
    etbackend("compile", "mobilenet_v2.pt2", "-o", "portable.pte", "--etrecord", "portable.etrecord")
    etbackend("info", "portable.pte", "--html", "program.html")
    etbackend("info", "mobilenet_v2.pt2", "-b", "xnnpack", "--html", "asked.html")
    etbackend("run", "portable.pte", "--repeat", "5", "--profile", "portable.etdp", "--profile-memory", "--print-output", "none")
    etbackend("inspect", "portable.etdp", "--etrecord", "portable.etrecord", "--skip", "1", "--html", "portable_run.html")
    etbackend("run", "mobilenet_v2.pte", "--repeat", "5", "--profile", "run.etdp", "--print-output", "none")
    etbackend("inspect", "run.etdp", "--etrecord", "mobilenet_v2.etrecord", "--skip", "1", "--html", "run.html")
    etbackend("verify", "portable", "--case", "op.add_tensor.f32.*", "--case", "op.mm.*", "--html", "verify.html")
    etbackend("compare", "compile.html", "other.html", "-o", "compare.html")
    for name in ("before", "after"):
        (folder / f"{name}.txt").write_text(changed_module(name))
        etbackend("graph", f"{name}.txt", "--html", f"{name}.html")
    etbackend("compare", "before.html", "after.html", "-o", "changed.html")
    (folder / "large.txt").write_text(large_module(10000))
    etbackend("graph", "large.txt", "--html", "large.html")
    (folder / "hostile.txt").write_text(hostile_module())
    etbackend("graph", "hostile.txt", "--html", "hostile.html")
    return ["model", "asked", "program", "compile", "run", "portable_run", "verify", "compare", "changed"]


def large_module(count):
    """Layers of ten nodes with a residual, in modules."""
    lines = ['etg 1', 'module "forward"', 'graph @forward {', '  user %v0: float32[2, 8]']
    for i in range(1, count + 1):
        layer = (i - 1) // 10
        one, other = f"%v{i - 1}", f"%v{max(0, i - 9)}" if i % 10 == 0 else f"%v{i - 1}"
        op = "aten.relu.default(" + one + ")" if i % 3 == 0 else f"aten.add.Tensor({one}, {other})"
        lines.append(f'  %v{i}: float32[2, 8] = {op} at "net.py":{i} in "forward" of "blocks.{layer // 10}.{layer}"')
    return "\n".join(lines + [f"  return %v{count}", "}", ""])


def changed_module(name):
    """One node is only in each of both, and one has other sizes."""
    size, op = (2, "sigmoid") if name == "before" else (3, "tanh")
    return f'''etg 1
module "forward"
graph @forward {{
  user %x: float32[{size}]
  %y: float32[{size}] = aten.relu.default(%x)
  %z: float32[{size}] = aten.{op}.default(%y)
  return %z
}}
'''


def hostile_module():
    return f'''etg 1
module "forward"
graph @forward {{
  user %x: float32[2]
  %y: float32[2] = aten.relu.default(%x) at "{HOSTILE}":1 in "{HOSTILE}" of "{HOSTILE}"
  return %y
}}
'''


class Browser:
    def __init__(self, playwright, path):
        self.browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])

    def page(self, width, scheme="light", touch=False):
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=touch, bypass_csp=False)
        page = context.new_page()
        page.problems, page.requests = [], []
        page.on("console", lambda message: page.problems.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda dialog: (page.problems.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: page.requests.append(request.url))
        return page


def open_page(page, path):
    page.goto(path.as_uri())
    page.wait_for_timeout(700)


def check_each(browser, folder, names, axe):
    for scheme in ("light", "dark"):
        for width in (1360, 400):
            for name in names:
                page = browser.page(width, scheme)
                open_page(page, folder / f"{name}.html")
                label = f"{name}, {scheme}, {width} pixels"
                others = [url for url in page.requests if not url.startswith(("file:", "data:"))]
                report(f"{label}: no error and no request", not page.problems and not others, page.problems + others or "")
                wide = page.evaluate("document.documentElement.scrollWidth")
                report(f"{label}: no horizontal scrolling", wide <= width, "" if wide <= width else wide)
                # The page's policy allows no script but its own: the debugger runs axe.
                session = page.context.new_cdp_session(page)
                session.send("Runtime.evaluate", {"expression": axe})
                found = session.send("Runtime.evaluate", {"expression": "axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html])))", "awaitPromise": True})
                violations = json.loads(found["result"]["value"])
                report(f"{label}: axe", not violations, violations or "")
                page.context.close()


def check_keys(browser, folder):
    page = browser.page(1360)
    open_page(page, folder / "compile.html")
    title = lambda: page.locator(".side h3").first.inner_text()
    page.locator("canvas.main").first.focus()
    before = title()
    page.keyboard.press("ArrowDown")
    first = title()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    report("keys: arrows choose boxes", len({before, first, title()}) == 3, f"{before} > {first} > {title()}")
    k = page.evaluate("Page.graphs[0].view.k")
    page.keyboard.press("+")
    report("keys: plus zooms", page.evaluate("Page.graphs[0].view.k") > k)
    page.keyboard.press("Escape")
    report("keys: Escape forgets the box", page.evaluate("Page.graphs[0].view.picked === null"))
    page.keyboard.press("/")
    page.keyboard.type("aten.mean")
    hits = page.locator(".side h3").first.inner_text()
    page.keyboard.press("Enter")
    report("keys: search finds, Enter shows", "found" in hits and "mean" in title(), f"{hits} > {title()}")
    reasons = page.locator(".side .bad").count()
    report("reasons are visible without pointing", reasons > 0, page.locator(".side").first.inner_text().replace("\n", " ")[:160])
    page.keyboard.press("Escape")
    report("keys: Escape leaves the search", page.evaluate("document.activeElement.tagName") == "CANVAS")
    boxes = page.evaluate("Page.graphs[0].view.scene.boxes.length")
    page.get_by_role("button", name="Close all").first.click()
    closed = page.evaluate("Page.graphs[0].view.scene.boxes.length")
    page.evaluate("{ const g = Page.graphs[0]; g.choose(g.view.scene.boxes.find(box => box.group)); g.canvas.focus(); }")
    page.keyboard.press("Enter")
    opened = page.evaluate("Page.graphs[0].view.scene.boxes.length")
    report("groups close, and Enter opens one", closed < boxes and opened > closed, f"{boxes} > {closed} > {opened} boxes")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Switch between light and dark").click()
    report("the switch changes the colours", page.evaluate(colour) != light)
    page.emulate_media(media="print")
    pdf = page.pdf()
    report("prints", pdf.startswith(b"%PDF") and len(pdf) > 20000, f"{len(pdf)} bytes")
    page.context.close()


def check_timeline(browser, folder):
    page = browser.page(1360)
    open_page(page, folder / "run.html")
    page.locator(".strip canvas").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator(".picked").first.inner_text()
    page.keyboard.press("ArrowRight")
    report("timeline: arrows choose events", first != page.locator(".picked").first.inner_text(), first)
    lines = page.locator("section", has=page.get_by_role("heading", name="Hot lines")).locator(".row").count()
    report("the run has hot lines of the model's source", lines > 0, lines)
    page.context.close()


def check_memory(browser, folder):
    page = browser.page(1360)
    open_page(page, folder / "portable_run.html")
    lanes = page.evaluate("JSON.parse(document.getElementById('document').textContent).sections[0].lanes.filter(lane => lane.levels).map(lane => [lane.name, lane.levels.length])")
    report("the timeline has lanes of memory", lanes and all(count >= 3 for _, count in lanes), lanes)
    page.locator(".strip canvas").focus()
    page.keyboard.press("Home")
    texts = set()
    for _ in range(60):
        texts.add(page.locator(".picked").first.inner_text())
        page.keyboard.press("ArrowRight")
    memory = [text for text in texts if "memory: " in text]
    report("keys: arrows choose levels of memory", memory, memory[0] if memory else "")
    rows = page.locator("section", has=page.get_by_role("heading", name="Memory by allocator")).locator("tbody tr").count()
    report("the memory of a run is a table, too", rows > 0, rows)
    page.context.close()


def check_differences(browser, folder):
    for name, expected in (("compare", {"another plugin"}), ("changed", {"only in A", "only in B", "other result, constants or arguments"})):
        page = browser.page(1360)
        open_page(page, folder / f"{name}.html")
        found = page.evaluate("[...nodeMarks.values()].map(mark => mark.sign + mark.kind)")
        report(f"{name}: differing nodes are marked by a sign", {mark[2:] for mark in found} == expected, sorted(set(found)))
        rows = page.locator(".differences tbody tr").all_inner_texts()
        report(f"{name}: each difference has a row", rows and all(any(kind in row for row in rows) for kind in expected), rows[:4])
        page.evaluate("Page.graphs.forEach(graph => graph.goTo(Math.max(0, graph.leaves.findIndex(leaf => nodeMarks.has(leaf.node)))))")
        panels = page.locator(".pair .side").all_inner_texts()
        report(f"{name}: the chosen node states its difference", all("difference" in panel.lower() for panel in panels), [panel.replace("\n", " ")[:120] for panel in panels])
        page.context.close()


def check_asked(browser, folder):
    page = browser.page(1360)
    open_page(page, folder / "asked.html")
    legend = page.locator(".legend").first.inner_text()
    report("info -b: the model is coloured by plugin", "xnnpack" in legend, legend.replace("\n", " "))
    page.context.close()


def check_touch(browser, folder):
    page = browser.page(400, touch=True)
    open_page(page, folder / "model.html")
    page.locator(".stage").first.scroll_into_view_if_needed()
    box = page.locator("canvas.main").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = page.evaluate("Page.graphs[0].view.k")
    session = page.context.new_cdp_session(page)
    touch = lambda kind, spread: session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if spread is None else [{"x": x - spread, "y": y, "id": 0}, {"x": x + spread, "y": y, "id": 1}]})
    touch("touchStart", 20)
    for spread in (30, 45, 60, 80):
        touch("touchMove", spread)
    touch("touchEnd", None)
    page.wait_for_timeout(100)
    report("touch: a pinch zooms", page.evaluate("Page.graphs[0].view.k") > before * 1.5)
    page.context.close()


def check_large(browser, folder):
    page = browser.page(1360)
    open_page(page, folder / "large.html")
    for grouping, how in (("module", "modules open"), ("flat", "flat")):
        placed = page.evaluate("name => { const g = Page.graphs[0], begin = performance.now(); g.grouping = name; g.open(0); g.openAll(true); return [performance.now() - begin, g.view.scene.boxes.length]; }", grouping)
        frames = page.evaluate(FRAMES, [60, 1.12])
        p95 = statistics.quantiles(frames, n=20)[18]
        detail = f"{placed[1]} boxes placed in {placed[0]:.0f} ms; frames while zooming: median {statistics.median(frames):.1f} ms, p95 {p95:.1f} ms"
        report(f"large graph, {how}", placed[1] > 10000 and p95 < 50, detail)
    page.context.close()


def check_hostile(browser, folder):
    page = browser.page(1360)
    open_page(page, folder / "hostile.html")
    images = page.locator("img").count()
    report("hostile names stay text", not page.problems and images == 0 and HOSTILE in page.evaluate("document.getElementById('document').textContent && JSON.stringify(Page.graphs[0].section.graphs)"), page.problems or "")
    page.evaluate("Page.graphs[0].goTo(1)")
    report("hostile names are shown", HOSTILE in page.locator(".side").first.inner_text())
    page.context.close()


def check_exports(folder):
    if shutil.which("dot"):
        svg = subprocess.run(["dot", "-Tsvg", folder / "graph.dot"], capture_output=True, text=True)
        report("Graphviz draws the graph", svg.returncode == 0 and svg.stdout.count('class="node"') > 40, svg.stderr[:200])
    else:
        print("skip Graphviz: not installed")
    try:
        from model_explorer import graph_builder
        from dacite import from_dict
    except ImportError:
        return print("skip Model Explorer: not installed")
    document = json.loads((folder / "explorer.json").read_text())
    graphs = from_dict(graph_builder.GraphCollection, document).graphs
    nodes = {node.id for node in graphs[0].nodes}
    edges = [edge.sourceNodeId for node in graphs[0].nodes for edge in node.incomingEdges]
    report("Model Explorer's classes read the graph", len(nodes) > 40 and set(edges) <= nodes, f"{len(nodes)} nodes, {len(edges)} edges")


def take_shots(browser, folder, target):
    from PIL import Image

    def shot(name, file, scheme, prepare=None, width=1360, height=900, quality=62):
        page = browser.page(width, scheme)
        page.set_viewport_size({"width": width, "height": height})
        open_page(page, folder / f"{file}.html")
        if prepare:
            page.evaluate(prepare)
            page.wait_for_timeout(400)
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        path = Path(target) / f"page_{name}.webp"
        image.save(path, quality=quality, method=6)
        report(f"picture {path.name} below 100 kB", path.stat().st_size < 100000, path.stat().st_size)
        page.context.close()

    part = lambda index: f"document.getElementById('part-{index}').scrollIntoView()"
    shot("compile", "compile", "light", part(0) + "; Page.graphs[0].goTo(Page.graphs[0].leaves.findIndex(leaf => leaf.node.reasons))")
    shot("model", "model", "dark", part(0))
    shot("memory", "program", "light", part(1))
    shot("weights", "model", "dark", part(1))
    shot("run", "portable_run", "dark", part(0))
    shot("verify", "verify", "light")
    shot("compare", "compare", "light", "document.querySelector('.differences').scrollIntoView(); Page.graphs.forEach(graph => graph.goTo(graph.leaves.findIndex(leaf => nodeMarks.has(leaf.node)))); scrollBy(0, -90)")
    shot("phone", "compile", "light", part(0), width=400, height=850)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("etbackend")
    parser.add_argument("--plugin-path", action="append", default=[], type=os.path.abspath)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--shots", help="write pictures to this folder")
    parser.add_argument("--keep", help="write the pages to this folder")
    arguments = parser.parse_args()
    import axe_playwright_python
    from playwright.sync_api import sync_playwright

    axe = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(arguments.keep or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        names = make_pages(arguments, folder)
        for name in names:
            print(f"     {name}.html has {(folder / (name + '.html')).stat().st_size // 1000} kB")
        browser = Browser(playwright, arguments.chromium)
        check_each(browser, folder, names, axe)
        check_keys(browser, folder)
        check_timeline(browser, folder)
        check_memory(browser, folder)
        check_differences(browser, folder)
        check_asked(browser, folder)
        check_touch(browser, folder)
        check_large(browser, folder)
        check_hostile(browser, folder)
        check_exports(folder)
        if arguments.shots:
            take_shots(browser, folder, arguments.shots)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
