"""Words per sentence of documents, without code, tables and headings.

python scripts/readability.py                     # README, docs and the intros of results
python scripts/readability.py README.md --most 18 # ends with 1 where a mean is above
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEWEST_WORDS = 3  # of a sentence


def sentences(text: str) -> list[str]:
    """Return the sentences of a page of Markdown; what stands in code counts as one word."""
    text = re.sub(r"```.*?```|<!-- (table|digest).*?<!-- end.*?-->", "", text, flags=re.S)
    text = re.sub(r"<details>.*?</details>|<!--.*?-->|<[^>]+>", "", text, flags=re.S)
    kept = [line for line in text.splitlines() if not line.startswith(("|", "#", "!"))]
    text = re.sub(r"`[^`]*`", "code", "\n".join(kept))
    text = re.sub(r"\]\([^)]*\)", "]", text)
    parts = re.split(r"(?<=[.!?:])\s+|\n\s*\n|\n(?:- |\d\. )", text)
    return [part for part in parts if len(part.split()) >= FEWEST_WORDS]


def main() -> int:
    """Print the count, the mean and the largest number of words of every page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--most", type=float, default=18.0, help="words, in the mean of a page")
    options = parser.parse_args()
    folders = [*(ROOT / "docs").glob("*.md"), *(ROOT / "results").glob("*.md")]
    pages = options.pages or [*sorted(ROOT.glob("*.md")), *sorted(folders)]
    is_long = False
    for page in pages:
        words = [len(sentence.split()) for sentence in sentences(page.read_text("utf-8"))] or [0]
        mean = sum(words) / len(words)
        is_long |= mean > options.most
        print(f"{page.name:28} {len(words):4} sentences, {mean:5.1f} words, at most {max(words)}")
    return int(is_long)


if __name__ == "__main__":
    sys.exit(main())
