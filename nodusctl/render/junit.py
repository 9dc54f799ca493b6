"""Findings as a JUnit report: one test case a file, and one for what has no file, so that a file that was mended shows as resolved.

There is no standard; the shape is what Jenkins' and GitLab's readers take (testsuites, testsuite, testcase, failure, system-out).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as Xml

from nodusctl.base.diagnostics import Diagnostic
from nodusctl.base.redaction import clean
from nodusctl.render.diagnostics import diagnostic_text
from nodusctl.render.findings import Findings
from nodusctl.render.style import PLAIN

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, "Characters"."""


def junit_text(found: Findings, path_of: Callable[[str], str] = str) -> str:
    """The report. Errors fail their file's case; warnings and notes stand in its output."""
    said = found.ordered
    whole = f"nodusctl {found.command}"
    files = dict.fromkeys((*found.files, *(one.span.file for one in said if one.span)))
    cases = {path_of(file): [one for one in said if one.span and one.span.file == file] for file in files}
    cases[whole] = [one for one in said if one.span is None]
    failures = sum(1 for case in cases.values() if any(one.is_error for one in case))
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = Xml.Element("testsuites", {"name": "nodusctl", **counts})
    suite = Xml.SubElement(root, "testsuite", {"name": whole, **counts, "skipped": "0", "time": "0"})
    for name, case in cases.items():
        place = {"file": _writable(name)} if name != whole else {}
        element = Xml.SubElement(
            suite, "testcase", {"classname": f"nodusctl.{found.command}", "name": _writable(name), **place, "time": "0"}
        )
        _fill(element, case)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _fill(case: Xml.Element, said: Sequence[Diagnostic]) -> None:
    errors = [one for one in said if one.is_error]
    others = [one for one in said if not one.is_error]
    if errors:
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        head = {"message": _writable(f"{errors[0].summary}{more}"), "type": errors[0].code}
        Xml.SubElement(case, "failure", head).text = _texts(errors)
    if others:
        Xml.SubElement(case, "system-out").text = _texts(others)


def _texts(said: Sequence[Diagnostic]) -> str:
    return _writable("\n\n".join(diagnostic_text(one, PLAIN) for one in said))


def _writable(text: str) -> str:
    return _NOT_XML.sub("\ufffd", clean(text))
