"""Text files in another encoding, or with decimal commas: turned, on the way, into what the compiled reader knows."""

import codecs
import csv
import re
from typing import Any, NamedTuple, final

_SIZE = 1 << 18
_DELIMITERS = (",", ";", "\t", "|")


@final
class Recoded:
    r"""Reads a file as UTF-8 text with decimal points, whatever it is.

    A comma is a decimal sign only where the whole cell is a number, so that text keeps its commas.

    >>> import io
    >>> room = bytearray(64)
    >>> n = Recoded(io.BytesIO("größe;ort\n1,5;a, b\n".encode("latin-1")), "latin-1", ";").readinto(room)
    >>> bytes(room[:n]).decode()
    'größe;ort\n1.5;a, b\n'
    """

    def __init__(self, file: Any, encoding: str = "utf-8", commas_beside: str | None = None) -> None:
        self._read = getattr(file, "read1", file.read)
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
        self._ready = self._rest = b""
        self._ended = False
        self._number: re.Pattern[bytes] | None = None
        if commas_beside is not None:
            sign = re.escape(commas_beside.encode())
            cell = rb"([ \"]*[+-]?[0-9]*),([0-9]+(?:[eE][+-]?[0-9]+)?[ \"]*)"
            self._number = re.compile(
                rb"(?:^|(?<=[\r\n])|(?<=" + sign + rb"))" + cell + rb"(?=[\r\n]|" + sign + rb"|$)"
            )

    def readinto(self, room: Any) -> int:
        """Fill room with the next bytes; give how many there are, 0 at the end."""
        while not self._ready and not self._ended:
            self._fetch()
        n = min(len(room), len(self._ready))
        room[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _fetch(self) -> None:
        data = self._read(_SIZE)
        self._ended = not data
        if self._decoder is not None:
            try:
                data = self._decoder.decode(data, final=self._ended).encode()
            except UnicodeError as error:
                raise ValueError(f"encoding must be that of the file: {error}") from None
        if self._number is None:
            self._ready = data
            return
        data = self._rest + data  # whole lines only: a number may be cut in two
        cut = len(data) if self._ended else data.rfind(b"\n") + 1
        self._rest = data[cut:]
        self._ready = self._number.sub(rb"\1.\2", data[:cut])


def find_delimiter(sample: str) -> str:
    r"""Find what stands between the values: of , ; tab and | the one that divides the header and the first lines most.

    It must divide them alike; where none does it is a comma.

    >>> find_delimiter("größe;preis\n1;2,5\n"), find_delimiter("a,b\n1,x;y\n"), find_delimiter("a\n1\n")
    (';', ',', ',')
    """
    best, most = ",", 1
    lines = [line for line in sample.splitlines() if line][:6]
    for delimiter in _DELIMITERS:
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
        except csv.Error:
            continue
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = delimiter, width
    return best


def has_commas(sample: str, delimiter: str) -> bool:
    r"""Are the numbers of these lines written with decimal commas? Then some are, and none has a point.

    >>> has_commas("a;b\n1,5;x\n2;y\n", ";"), has_commas("a;b\n1.5;1,2\n", ";"), has_commas("a,b\n1,5\n", ",")
    (True, False, False)
    """
    if delimiter == ",":
        return False
    cells = [cell.strip(' "') for line in sample.splitlines()[1:] for cell in line.split(delimiter)]
    commas = any(re.fullmatch(r"[+-]?[0-9]*,[0-9]+", cell) for cell in cells)
    return commas and not any(re.fullmatch(r"[+-]?[0-9]*\.[0-9]+", cell) for cell in cells)


class Dialect(NamedTuple):
    """How a text file is written."""

    delimiter: str
    decimal: str
    encoding: str

    def reading(self, file: Any) -> Any:
        """Give a file as UTF-8 text with decimal points."""
        if self.encoding == "utf-8" and self.decimal == ".":
            return file
        return Recoded(file, self.encoding, self.delimiter if self.decimal == "," else None)


def find_dialect(
    sample: bytes, usual: str, delimiter: str | None, decimal: str | None, encoding: str | None
) -> Dialect:
    """Find out what the caller did not say; usual: what a file of this name has between its values.

    sample: the first bytes of the file.
    """
    encoding = codecs.lookup(encoding or "utf-8").name
    if not sample or (delimiter is not None and decimal is not None):
        return Dialect(delimiter or usual, decimal or ".", encoding)
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    text = text[: text.rfind("\n") + 1] or text
    if delimiter is None:
        delimiter = find_delimiter(text) if usual == "," else usual
    return Dialect(delimiter, decimal or ("," if has_commas(text, delimiter) else "."), encoding)
