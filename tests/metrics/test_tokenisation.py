"""BLEU over scripts without spaces, against sacrebleu itself."""

import pytest
import sacrebleu

from dragoman.errors import ConfigError
from dragoman.metrics import measure
from dragoman.metrics.translation import installed, tokenisation

CHINESE = ["我们今天去北京看长城。", "他昨天买了一本书。"]
JAPANESE = ["私は昨日東京に行きました。", "猫が好きです。"]
KOREAN = ["나는 어제 서울에 갔습니다.", "고양이를 좋아합니다."]
THAI = ["ฉันไปกรุงเทพเมื่อวานนี้", "เขาชอบแมวมาก"]
GERMAN = ["Ich war gestern in Berlin.", "Er mag Katzen."]


def references(texts: list[str]) -> list[tuple[str, ...]]:
    return [(text,) for text in texts]


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (CHINESE, "zh"),
        (JAPANESE, "ja-mecab" if installed("ja-mecab") else "char"),
        (KOREAN, "ko-mecab" if installed("ko-mecab") else "char"),
        (THAI, "char"),
        (["ខ្ញុំស្រឡាញ់ឆ្មា"], "char"),
        (["ຂ້ອຍມັກແມວ"], "char"),
        (["ကျွန်တော်ကြောင်ကြိုက်တယ်"], "char"),
        (GERMAN, "13a"),
        (["GPU と CPU"], "13a"),  # most letters decide
        (["123"], "13a"),
    ],
)
def test_the_script_of_the_references_decides(texts: list[str], name: str) -> None:
    assert tokenisation(references(texts)) == name


@pytest.mark.parametrize("texts", [CHINESE, THAI, GERMAN])
def test_the_numbers_of_sacrebleu(texts: list[str]) -> None:
    answers = [texts[0][:-3] + "x", texts[1]]
    name = tokenisation(references(texts))
    [measured] = measure(["bleu"], answers, references(texts), resamples=5)
    assert measured.value == pytest.approx(sacrebleu.corpus_bleu(answers, [texts], tokenize=name).score)
    assert f"|tok:{name}|" in measured.signature
    assert 0 < measured.value < 100


@pytest.mark.parametrize("name", ["13a", "intl", "char", "none", "zh"])
def test_another_choice_is_kept(name: str) -> None:
    answers = ["我们今天去北京看长城!", CHINESE[1]]
    [measured] = measure(["bleu"], answers, references(CHINESE), resamples=5, tokenise=name)
    assert measured.value == pytest.approx(sacrebleu.corpus_bleu(answers, [CHINESE], tokenize=name, force=True).score)
    assert f"|tok:{name}|" in measured.signature


@pytest.mark.skipif(installed("ja-mecab"), reason="MeCab is installed")
def test_mecab_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'sacrebleu\[ja\]'.*--tokenise"):
        measure(["bleu"], JAPANESE, references(JAPANESE), resamples=5, tokenise="ja-mecab")
