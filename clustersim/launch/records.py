"""Reports that travel on a task's stderr, taken out of what the program itself writes there.

A container has no pipe but its stdout and stderr. With CLUSTERSIM_REPORT_FD=2 a report is one record
of a JSON text sequence (RFC 7464): the character RS, an object, a line end. It may come in the middle
of a line of the program, and a read may cut it.
"""

from clustersim.runtime.report import RECORD_MARK

_MAX_RECORD_BYTES = 4096
"""A report is one atomic write to a pipe, so it is no longer than this; what is longer is text."""


class RecordSieve:
    """Splits one stderr, as it comes, into the program's text and its reports."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> tuple[bytes, list[bytes]]:
        """Takes what was read; returns the text, and the records that are whole, without marks."""
        text, *parts = (self._held + data).split(RECORD_MARK)
        self._held = b""
        records = []
        for number, part in enumerate(parts):
            record, end, rest = part.partition(b"\n")
            if end and record.startswith(b"{"):
                records.append(record)
                text += rest
            elif number == len(parts) - 1 and not end and len(part) < _MAX_RECORD_BYTES:
                self._held = RECORD_MARK + part  # its end has not been read yet
            else:
                text += RECORD_MARK + part  # the program's own RS
        return text, records

    def rest(self) -> bytes:
        """Returns what was held back when the stream has ended."""
        held, self._held = self._held, b""
        return held
