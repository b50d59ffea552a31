"""The command: `python -m parades run campus`."""

from __future__ import annotations

import signal
import sys

from . import _parades


def main() -> int:
    """Executes the command with the words of this process, and returns its exit status."""
    # The command answers signals itself: a run ends at a consistent cut, with its results so far.
    # A signal that the process was started to ignore stays ignored.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Standard output is the command's own, with what Python has written before.
    sys.stdout.flush()
    # A program may print. Results and the answers of workers stay apart from its lines.
    sys.stdout = sys.stderr
    return _parades.main(["parades", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
