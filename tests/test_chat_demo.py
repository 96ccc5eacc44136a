"""The demo of small talk, on a corpus of toys."""

import json
from pathlib import Path

import pytest

from dragoman.cli.demos import chat
from dragoman.cli.demos.playing import Given
from dragoman.data.readers import chitchat
from talks import talk


@pytest.mark.slow
def test_the_demo_trains_measures_talks_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talks = {f"{n}": {"messages": [[{"text": turn}] for turn in talk(n)]} for n in range(300)}
    (tmp_path / "dataset.json").write_text(json.dumps(talks))
    monkeypatch.setattr(chitchat, "corpus_path", lambda: tmp_path / "dataset.json")
    monkeypatch.setattr(chitchat, "MOST", {"valid": 3, "test": 2})
    chat.play(Given(tmp_path / "out", 0.02, fresh=False, as_json=True), 0.0)
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["event"] == "result"
    assert [one["said"] for one in told["conversation"]] == list(chat.SAID)
    assert len(told["continued"]) == chat.SHOWN
    assert told["metrics"]["perplexity"]["value"] > 1
    assert (tmp_path / "out" / "run" / "report.html").is_file()
    chat.play(Given(tmp_path / "out", 0.02, fresh=False, as_json=False), 0.0)
    shown = capsys.readouterr()
    assert "A conversation with it:\n  you    Hi! How are you doing today?\n  model  " in shown.out
    assert f"dragoman chat {tmp_path}/out/run" in shown.err
