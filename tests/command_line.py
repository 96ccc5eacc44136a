"""The command line in processes of its own, forked from one that has imported torch, since that takes seconds."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """What a command left."""

    code: int  # -9: killed by signal 9
    out: str
    err: str


class CommandLine:
    """One command at a time: dragoman(…) waits for it, start(…) does not."""

    def __enter__(self) -> "CommandLine":
        self.folder = tempfile.TemporaryDirectory()
        self.files = {name: str(Path(self.folder.name) / name) for name in ("stdin", "stdout", "stderr")}
        pipe, one_thread = subprocess.PIPE, os.environ | {"OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True, env=one_thread)
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()
        self.folder.cleanup()

    def __call__(self, *words: object, stdin: str | bytes = "", **places: str) -> Done:
        self.start(*words, stdin=stdin, **places)
        return self.wait()

    def start(self, *words: object, stdin: str | bytes = "", **places: str) -> int:
        """Begin a command; its process id. `stdout=path` sends its output there."""
        Path(self.files["stdin"]).write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        order = {"words": [str(word) for word in words], **self.files, **places}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.answer())

    def wait(self) -> Done:
        code = int(self.answer())
        out, err = (Path(self.files[name]).read_text("utf-8") for name in ("stdout", "stderr"))
        return Done(code, out, err)

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


def become(order: dict[str, Any]) -> None:
    """In the forked process: stand where the command would stand."""
    from dragoman.__main__ import run

    modes = {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY | os.O_CREAT | os.O_TRUNC}
    modes["stderr"] = modes["stdout"]
    for number, (name, mode) in enumerate(modes.items()):
        os.dup2(os.open(order[name], mode), number)
    sys.argv = ["dragoman", *order["words"]]
    code: object = 1
    try:
        run()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)  # taking the interpreter down would copy every page of torch


def serve() -> None:
    import torch

    import dragoman.cli.main
    import dragoman.cli.progress
    import dragoman.inspection.alignment
    import dragoman.recipes  # noqa: F401 (it is the import that takes time)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored
    with torch.device("meta"):  # the first use of either imports more of torch
        torch.optim.Adam(torch.nn.Embedding(2, 3).parameters())
    while line := sys.stdin.readline():
        if (process := os.fork()) == 0:
            become(json.loads(line))
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
