"""Files of pictures with captions: what is read, what is left out and why, and what is made of it."""

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dragoman.config import validate
from dragoman.data.captioning import Captioning
from dragoman.data.captions import CaptionEncoding, build_captions, collate_captions
from dragoman.data.readers.captions import Captions, columns_of, read_captions, read_captions_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.store import Store, discard
from dragoman.data.tokenizers import END, START, Characters, train_tokenizer
from dragoman.errors import ConfigError, DamagedStoreError, DataError

COLOURS = {"red.png": (255, 0, 0), "green.png": (0, 255, 0), "blue.png": (0, 0, 255)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pictures of one colour, one that is broken, and an animation."""
    for name, colour in COLOURS.items():
        Image.new("RGB", (4, 4), colour).save(tmp_path / name)
    (tmp_path / "broken.png").write_bytes((tmp_path / "red.png").read_bytes()[:50])
    frames = [Image.new("RGB", (4, 4), colour) for colour in COLOURS.values()]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    return tmp_path


def read(file: Path, **settings: object) -> tuple[list[tuple[str, tuple[tuple[str, str], ...]]], list[str]]:
    problems = Problems()
    data = validate(Captions, {"train": [str(file)], **settings})
    found = [(one.picture, one.captions) for one in read_captions(data, data.files("train"), problems)]
    return found, [f"{problem.line}: {problem.reason}" for problem in problems.first]


def test_tables_with_and_without_a_header(folder: Path) -> None:
    (folder / "plain.tsv").write_text("red.png\ta red one\nblue.png\ta blue one\n")
    assert read(folder / "plain.tsv") == ([("red.png", (("", "a red one"),)), ("blue.png", (("", "a blue one"),))], [])
    (folder / "headed.csv").write_text('number,Caption,image\n1,"red, all of it",red.png\n')
    assert read(folder / "headed.csv") == ([("red.png", (("", "red, all of it"),))], [])
    columns = columns_of(str(folder / "headed.csv"), Captions())
    assert str(columns) == "CSV with header, picture = 'image', caption = 'Caption'"


def test_several_captions_of_a_picture(folder: Path) -> None:
    lines = [{"image": "red.png", "captions": ["red", "a red one"]}, {"image": "blue.png", "captions": "blue"}]
    (folder / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found, bad = read(folder / "a.jsonl")
    assert found == [("red.png", (("", "red"), ("", "a red one"))), ("blue.png", (("", "blue"),))]
    assert not bad
    (folder / "a.tsv").write_text("file\tone\ttwo\nred.png\tred\tvery red\nblue.png\tblue\t\n")
    found, bad = read(folder / "a.tsv", caption_field=["one", "two"])
    assert found == [("red.png", (("", "red"), ("", "very red"))), ("blue.png", (("", "blue"),))]


def test_tags_from_a_field_or_from_columns(folder: Path) -> None:
    (folder / "long.tsv").write_text("picture\tcaption\tlanguage\nred.png\trot\tde\nred.png\trouge\tfr\nred.png\tx\t\n")
    found, bad = read(folder / "long.tsv", tag_field="language")
    assert [captions for _, captions in found] == [(("de", "rot"),), (("fr", "rouge"),)]
    assert bad == ["4: empty tag"]
    (folder / "wide.tsv").write_text("picture\tde\tfr\nred.png\trot\trouge\n")
    found, _ = read(folder / "wide.tsv", caption_field=["de", "fr"], tags="columns")
    assert found == [("red.png", (("de", "rot"), ("fr", "rouge")))]
    with pytest.raises(ConfigError, match="tag_field and tags = 'columns' both say what the tag of a caption is"):
        validate(Captions, {"tag_field": "language", "tags": "columns"})


def test_the_name_of_a_column_may_be_no_tag(folder: Path) -> None:
    (folder / "wide.tsv").write_text("picture\ten us\tde\nred.png\tred\trot\n")
    found, bad = read(folder / "wide.tsv", caption_field=["en us", "de"], tags="columns")
    assert (found, bad) == ([], ["2: a tag has a space or a bracket in it"])


def test_a_file_that_changed_is_read_as_it_is_now(folder: Path) -> None:
    (folder / "a.tsv").write_text("picture\tcaption\nred.png\tred\n")
    assert read(folder / "a.tsv")[0] == [("red.png", (("", "red"),))]
    (folder / "a.tsv").write_text("caption\tpicture\nred\tred.png\n")
    assert read(folder / "a.tsv")[0] == [("red.png", (("", "red"),))]


def test_bad_lines_are_told_and_the_rest_goes_on(folder: Path) -> None:
    (folder.parent / "outside.png").write_bytes((folder / "red.png").read_bytes())
    (folder / "a.tsv").write_text(
        "red.png\ta red one\n\ta caption\nblue.png\t \n../outside.png\tx\n\nred.png\tred\tmore\nblue.png\tblue\n"
    )
    found, bad = read(folder / "a.tsv")
    assert [picture for picture, _ in found] == ["red.png", "blue.png"]
    assert bad == [
        "2: caption without a picture",
        "3: empty caption",
        "4: the picture is outside of the folder of pictures",
        "5: empty line",
        "6: too many columns",
    ]
    (folder / "a.jsonl").write_text(
        '{"image": "red.png", "caption": "red"}\n[1]\n{"image": "red.png"}\n{"image": 1, "caption": "x"}\n'
    )
    assert read(folder / "a.jsonl")[1] == ["2: no JSON object", "3: no field 'caption'", "4: a field is no text"]


@pytest.mark.parametrize(
    ("content", "settings", "sentence"),
    [
        ("a\tb\tc\n", {}, "It is not clear which columns of FILE hold the names of pictures and the captions; it has"),
        (
            "picture\tcaption\nx\ty\n",
            {"caption_field": "captoin"},
            "FILE has no field 'captoin'. Did you mean 'caption'?",
        ),
        ("a\tb\n", {"caption_field": 3}, "FILE has 2 columns: a field must be 1 to 2, not 3."),
        ("a.png\tb\n", {"tags": "columns"}, "FILE has no header, so that no column has a name to be a tag"),
        ("only words\n", {"format": "auto"}, "FILE holds lines of plain text without tabs"),
    ],
)
def test_files_that_are_not_clear(folder: Path, content: str, settings: dict[str, object], sentence: str) -> None:
    file = folder / ("a.txt" if "plain" in sentence else "a.tsv")
    file.write_text(content)
    with pytest.raises(DataError) as caught:
        read(file, **settings)
    assert str(caught.value).startswith(sentence.replace("FILE", str(file)))


def test_pictures_lie_elsewhere_or_in_a_zip(folder: Path, tmp_path: Path) -> None:
    (folder / "lists").mkdir()
    (folder / "lists" / "a.tsv").write_text("red.png\tred\ngone.png\tx\n")
    with zipfile.ZipFile(folder / "all.zip", "w") as file:
        file.write(folder / "red.png", "red.png")
    for place in (folder, folder / "all.zip"):
        data = Captions(train=(str(folder / "lists" / "a.tsv"),), pictures=str(place))
        one, gone = read_captions(data, data.files("train"), Problems())
        assert one.place.read(one.picture) == (folder / "red.png").read_bytes()
        with pytest.raises(DataError, match="not there"):
            gone.place.read(gone.picture)
    with pytest.raises(DataError, match=r"There is no folder and no ZIP nowhere \(data\.pictures\)\."):
        read(folder / "lists" / "a.tsv", pictures="nowhere")
    (folder / "bad.zip").write_bytes(b"nothing")
    [one, _] = read_captions(Captions(pictures=str(folder / "bad.zip")), [str(folder / "lists" / "a.tsv")], Problems())
    with pytest.raises(DataError, match="is no ZIP that can be read"):
        one.place.read("red.png")


def test_captions_of_a_picture_are_held_out_together(folder: Path) -> None:
    names = [f"{number}.png" for number in range(60)]
    (folder / "a.tsv").write_text("".join(f"{name}\tone\n{name}\ttwo\n" for name in names))
    data = Captions(train=(str(folder / "a.tsv"),), hold_out=0.3)
    sides = [{one.picture for one in read_captions_split(data, name, Problems())} for name in ("train", "valid")]
    assert not sides[0] & sides[1]
    assert sides[0] | sides[1] == set(names)
    assert 5 < len(sides[1]) < 30


def test_a_picture_is_held_out_whatever_it_is_called(folder: Path) -> None:
    """Names that have no detours stay where they were before others were looked through."""
    names = [f"{number}.png" for number in range(20)]
    called = [(name, f"./{name}", f"././{name}", f".//{name}", f"a/../{name}", str(folder / name)) for name in names]
    (folder / "a.tsv").write_text("".join(f"{name}\tone\n" for several in called for name in several))
    data = Captions(train=(str(folder / "a.tsv"),), hold_out=0.5)
    for side in ("train", "valid"):
        kept = {one.picture for one in read_captions_split(data, side, Problems())}
        assert kept == {name for plain, *more in called if data.keeps(plain, side) for name in (plain, *more)}
        assert 0 < len(kept) < 120


def sides_of(files: list[Path]) -> list[set[str]]:
    """Which pictures are learned from, and validated on."""
    data = Captions(train=tuple(map(str, files)), hold_out=0.4)
    sides: tuple[SplitName, ...] = ("train", "valid")
    return [{one.place.key(one.picture) for one in read_captions_split(data, side, Problems())} for side in sides]


def linked(folder: Path) -> list[Path]:
    """A table that names each picture itself and through a link; and two, one in the folder of the pictures."""
    (folder / "in").mkdir(parents=True)
    for number in range(20):
        (folder / f"link{number}.png").symlink_to(Path("in") / f"{number}.png")
    (folder / "in" / "inner.tsv").write_text("".join(f"{number}.png\tone\n" for number in range(20)))
    (folder / "outer.tsv").write_text("".join(f"in/{number}.png\ttwo\n" for number in range(20)))
    (folder / "links.tsv").write_text("".join(f"in/{n}.png\tone\nlink{n}.png\ttwo\n" for n in range(20)))
    return [folder / "links.tsv", folder / "outer.tsv", folder / "in" / "inner.tsv"]


def test_links_and_tables_of_other_folders_name_the_same_picture(tmp_path: Path) -> None:
    """Pictures fall on the same side wherever the folders lie."""
    sides = []
    for folder in (tmp_path / "here", tmp_path / "some" / "where" / "else"):
        links, *two = linked(folder)
        for files in ([links], two):
            learned, validated = sides_of(files)
            assert not learned & validated
            assert (len(learned | validated), len(validated) > 2) == (20, True)
            sides.append({os.path.relpath(path, folder) for path in validated})
    assert sides == [sides[0]] * 4


def stored(folder: Path, content: str, **settings: object) -> tuple[Store, Problems]:
    (folder / "a.tsv").write_text(content)
    data = validate(Captions, {"train": [str(folder / "a.tsv")], **settings})
    tokenizer = train_tokenizer(Characters(), lambda: iter(["abcdefghijklmnopqrstuvwxyz <>"]))
    problems, encoding = Problems(), CaptionEncoding(tokenizer, 8, drop=True)
    captioned = read_captions(data, data.files("train"), problems)
    return build_captions(
        folder / "store", captioned, encoding, 4, "pad", "signed", problems, lambda counts: None
    ), problems


CONTENT = (
    "red.png\tred\nbroken.png\tx\ngreen.png\tgreen\nred.png\tmuch too long\nred.png\trot\nmoving.gif\tx\nno.png\tx\n"
)


def test_each_picture_is_hung_once_and_bad_ones_are_left_out(folder: Path) -> None:
    store, problems = stored(folder, CONTENT)
    assert store.gallery is not None
    assert (store.gallery.count, store.counts.pairs, store.counts.dropped_long, store.layout) == (2, 3, 1, "captions")
    assert [f"{one.line}: {one.reason}" for one in problems.first] == [
        "2: the picture is a broken picture",
        "6: the picture is an animation; take one of its frames",
        "7: the picture is not there",
    ]
    chunk = store.chunk(0)
    batch = collate_captions(chunk, np.argsort(chunk.lines), store.gallery)
    source, target = batch.sources["source"], batch.truth()
    assert source.values.shape == (3, 1, 4, 4, 3)
    assert source.values[:, 0, 0, 0].tolist() == [[255, 0, 0], [0, 255, 0], [255, 0, 0]]
    assert source.mask.tolist() == [[True]] * 3
    assert target.inputs.values[:, 0].tolist() == [START] * 3
    assert target.outputs.values[0, 3].item() == END
    assert batch.examples == (1, 3, 5)


def test_a_damaged_gallery_has_the_store_made_anew(folder: Path) -> None:
    store, _ = stored(folder, CONTENT)
    pixels = store.folder / "pictures" / "pixels.bin"
    pixels.write_bytes(b"\1" * len(pixels.read_bytes()))
    with pytest.raises(DamagedStoreError, match="picture 0 has changed since it was written") as caught:
        collate_captions(store.chunk(0), np.array([0, 1, 2]), store.gallery)
    assert caught.value.folder == store.folder
    discard(caught.value.folder)
    assert Store.open(store.folder, "signed") is None
    pixels.unlink()
    other, _ = stored(folder, CONTENT)
    (other.folder / "pictures" / "gallery.json").unlink()
    found = Store.open(other.folder, "signed")
    with pytest.raises(DamagedStoreError, match="pictures is damaged: it is not what was written"):
        _ = found.gallery


def test_what_is_known_of_captions_is_read_back() -> None:
    known = Captioning(("de", "zh-TW"), {"format": "tsv", "caption_field": ["de"]})
    assert Captioning.from_json(known.as_json()) == known
    assert Captioning.from_json("nonsense") == Captioning((), {})


def saved(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "a.npz", **arrays)  # type: ignore[arg-type]
    return folder / "a.npz"


def images(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.uint8).reshape(shape)


def test_arrays_hold_images_with_one_or_several_captions(tmp_path: Path) -> None:
    file = saved(tmp_path, images=images(3, 2, 4), captions=np.array([["a", "b"], ["c", ""], ["", ""]]))
    found, bad = read(file)
    assert found == [("a.npz[0]", (("", "a"), ("", "b"))), ("a.npz[1]", (("", "c"),))]
    assert bad == ["3: empty caption"]
    data = validate(Captions, {"train": [str(file)]})
    assert str(columns_of(str(file), data)) == "arrays of NumPy, picture = 'images', caption = 'captions'"
    second = list(read_captions(data, [str(file)], Problems()))[1]
    pixels = second.place.pixels(second.picture, (2, 4))
    assert pixels[:, :, 0].tolist() == [[8, 9, 10, 11], [12, 13, 14, 15]]
    assert second.place.read("a.npz[0]") == bytes(range(8))  # going back
    assert second.together == "a.npz[1]"


def test_arrays_are_named_and_have_tags(tmp_path: Path) -> None:
    file = saved(tmp_path, strips=images(2, 2, 2, 3), said=np.array(["rot", "red"]), language=np.array(["de", "en"]))
    found, _ = read(file, picture_field="strips", caption_field="said", tag_field="language")
    assert [captions for _, captions in found] == [(("de", "rot"),), (("en", "red"),)]
    with pytest.raises(
        DataError, match=r"which arrays of .*a\.npz hold .*; it has 'strips', 'said', 'language'\. Name"
    ):
        read(file)
    with pytest.raises(DataError, match="no field 'stripes'"):
        read(file, picture_field="stripes", caption_field="said")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (
            {"images": np.zeros((2, 3, 4)), "captions": np.array(["a", "b"])},
            r"a\.npz: 'images' \(2, 3, 4\) of float64 does not hold images\. Save bytes: uint8, \(images, rows, ",
        ),
        (
            {"images": images(2, 3, 4, 2), "captions": np.array(["a", "b"])},
            r"'images' \(2, 3, 4, 2\) of uint8 does not hold images",
        ),
        (
            {"images": images(2, 3, 4), "captions": np.array(["a"])},
            r"'captions' \(1,\) of <U1 does not give one text for each of 2 images, or several side by side\. Save",
        ),
        (
            {"images": images(2, 3, 4), "captions": np.array([1, 2])},
            r"'captions' \(2,\) of int64 does not give one text for each of 2 images",
        ),
        (
            {"images": images(2, 3, 4), "captions": np.array(["a", None], dtype=object)},
            "'captions' holds Python objects, which are pickled and never loaded",
        ),
        (
            {"images": images(1, 3, 4), "captions": np.array(["a" * 1_001])},
            "has texts that are too long: at most 4,000 bytes each",
        ),
        ({"pixels": images(2, 3, 4)}, "It is not clear which arrays"),
    ],
)
def test_arrays_that_hold_no_captioned_images(tmp_path: Path, arrays: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read(saved(tmp_path, **arrays))


def test_an_image_that_says_it_is_enormous_is_refused(tmp_path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|u1", "fortran_order": False, "shape": (1, 10**6, 10**6)})
    file = saved(tmp_path, captions=np.array(["a"]))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("images.npy", head.getvalue())
    data = validate(Captions, {"train": [str(file)]})
    [one] = read_captions(data, [str(file)], Problems())
    with pytest.raises(DataError, match=r"'images' has entries of more than 10,000,000 numbers\. Cut them\."):
        one.place.pixels(one.picture, 8)


def test_a_file_that_is_no_array(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"a\.npz is no \.npz file that can be read .* Save it with np\.savez\."):
        read(tmp_path / "a.npz")
