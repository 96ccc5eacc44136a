"""Whether a page is whole and needs nothing else."""

from html.parser import HTMLParser

VOID = {"meta", "br"}


class Checked(HTMLParser):
    """Every tag is closed by its own; what is in the page is collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.names: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attributes)
        assert not [name for name in known if name.startswith("on") or name in ("src", "xlink:href")]
        self.names += [known["id"] or ""] if "id" in known else []
        self.links += [known["href"] or ""] if "href" in known else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
