"""Call every entry point that takes arrays with every fault that an array can have.

A line stands before and one after each call, so that whoever started this program learns which call
ended the process.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from entries import entries


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a name and a call, the sound one of every entry point first."""
    for entry, (call, faulty) in entries().items():
        for form, (sound, faults) in enumerate(faulty):
            yield f"{entry} / {form} / sound", lambda call=call, sound=sound: call(sound)
            for fault, broken in faults.items():
                yield (
                    f"{entry} / {form} / {fault}",
                    lambda call=call, sound=sound, broken=broken: call(broken(sound)),
                )


def outcome(call: Callable[[], Any]) -> str:
    """Return what became of a call, in one line."""
    try:
        call()
    except Exception as error:
        line = str(error).replace("\n", " ")
        return f"{type(error).__mro__[0].__name__}: {line}"
    return "result"


def main(start: int) -> None:
    """Run the cases from a number on."""
    warnings.simplefilter("ignore")
    for number, (name, call) in enumerate(cases()):
        if number >= start:
            print(f"{number}\t{name}\tbegins", flush=True)
            print(f"{number}\t{name}\t{outcome(call)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
