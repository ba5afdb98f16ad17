"""Count the project: lines, classes, functions, documents, results and the wheel, with aims.

    python scripts/size.py
    python scripts/size.py --room src/truegraph/cli src/truegraph/report    # these folders alone

Of Markdown only what the repository keeps is counted. "paper" was nn, "classify" tasks/classify.
"before" is the state before the rebuilding, "aim" what the rebuilding was to reach. The wheel is
measured if dist/ holds one (``make release`` builds it).
"""

from __future__ import annotations

import argparse
import ast
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEFORE = {  # (before, aim)
    "wheel: lines": (58_301, 30_000),
    "wheel: files": (406, None),
    "wheel: classes": (424, None),
    "wheel: dataclasses": (223, None),
    "wheel: longest function": (74, None),
    "paper: lines": (10_487, None),  # nn
    "paper: files": (75, None),
    "classify: lines": (7_768, None),  # tasks/classify
    "classify: files": (56, None),
    "lab: lines": (None, 6_000),
    "tests: lines": (35_614, 20_000),
    "docs: kB of Markdown": (None, 120),
    "all Markdown: kB": (1_243, None),
    "results: kB": (9_300, 1_500),
    "wheel: kB": (None, 3_000),
}


def python_files(folders: Iterable[Path]) -> list[Path]:
    """Return the Python files of folders, or the files themselves."""
    return sorted(
        path for one in folders for path in ([one] if one.is_file() else one.rglob("*.py"))
    )


def counted(files: Iterable[Path], name: str) -> dict[str, int]:
    """Return how many lines, files, classes and functions there are, and how long functions are."""
    lines, classes, dataclasses, lengths, count = 0, 0, 0, [], 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        lines, count = lines + len(text.splitlines()), count + 1
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                classes += 1
                decorators = [ast.unparse(one) for one in node.decorator_list]
                dataclasses += any(one.startswith("dataclass") for one in decorators)
            elif isinstance(node, ast.FunctionDef):
                lengths.append(body_lines(node))
    lengths = sorted(lengths) or [0]
    return {
        f"{name}: lines": lines,
        f"{name}: files": count,
        f"{name}: classes": classes,
        f"{name}: dataclasses": dataclasses,
        f"{name}: functions": len(lengths),
        f"{name}: median function": lengths[len(lengths) // 2],
        f"{name}: longest function": lengths[-1],
    }


def body_lines(function: ast.FunctionDef) -> int:
    """Return the lines of a function below its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def kilobytes(paths: Iterable[Path]) -> int:
    """Return the size of files."""
    return round(sum(path.stat().st_size for path in paths) / 1000)


def tracked(pattern: str) -> list[Path]:
    """Return the files of a pattern that the repository keeps."""
    command = ["git", "-C", str(ROOT), "ls-files", pattern]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.splitlines()]


def project() -> dict[str, int]:
    """Return all counts of the project."""
    found = counted(python_files([ROOT / "src"]), "wheel")
    for name in ("paper", "classify"):
        room = counted(python_files([ROOT / "src" / "truegraph" / name]), name)
        found |= {key: room[key] for key in (f"{name}: lines", f"{name}: files")}
    for name in ("lab", "tests"):
        found[f"{name}: lines"] = counted(python_files([ROOT / name]), name)[f"{name}: lines"]
    found["docs: kB of Markdown"] = kilobytes((ROOT / "docs").glob("*.md"))
    found["all Markdown: kB"] = kilobytes(tracked("*.md"))
    found["results: kB"] = kilobytes(path for path in (ROOT / "results").iterdir())
    wheels = sorted((ROOT / "dist").glob("*.whl")) if (ROOT / "dist").is_dir() else []
    return found | ({"wheel: kB": kilobytes(wheels[-1:])} if wheels else {})


def main() -> None:
    """Print the counts as a table of Markdown."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--room", nargs="+", type=Path, help="folders or files to count alone")
    rooms = parser.parse_args().room
    found = project() if rooms is None else counted(python_files(rooms), "room")
    print("| | before | now | aim |\n|---|---|---|---|")
    for name, value in found.items():
        before, aim = BEFORE.get(name, (None, None))
        cells = ["" if one is None else f"{one:,}" for one in (before, value, aim)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
