"""Commands about certificates: `certificate check DIR`.

Knows: arguments, exit codes, the form in which findings are told.
Does not know: what a certificate holds or how it is checked.
Law: 0 only where everything was asked again and confirmed; 1 where anything was refused; 3 where something stays open
or is not covered. What a certificate says is printed on one line, whatever its paths hold.
"""

from __future__ import annotations

from pathlib import Path

import click

from dmaverify.cli.options import AS_JSON


@click.group()
def certificate() -> None:
    """Check what `check --certify` or `synth --certificate` wrote."""


@certificate.command("check")
@click.argument("folder", type=click.Path(file_okay=False), metavar="DIR")
@click.option("--no-cvc5", is_flag=True, help="Ask z3 alone.")
@AS_JSON
def check_(folder: str, no_cvc5: bool, as_json: bool) -> None:
    """Check a certificate from the plan's text on to its verdict.

    The questions are written again and answered by z3 and cvc5, and the independent checker judges the plan.
    """
    from dmaverify.cli.screen import told
    from dmaverify.jobs.certify import check_certificate
    from dmaverify.report.snippet import visible

    found = check_certificate(Path(folder), solver=not no_cvc5)
    word = {0: "CONFIRMED", 1: "REFUSED", 3: "NOT CONFIRMED"}[found.code]
    said, open_, refused = (list(map(visible, texts)) for texts in (found.said, found.open, found.refused))
    if as_json:
        data = {"folder": folder, "status": word.lower(), "refused": refused, "open": open_, "said": said}
        raise told(data, found.code)
    lines = [f"{word}  {visible(folder)}", *(f"  {text}" for text in said)]
    lines += [f"  open: {text}" for text in open_] + [f"  refused: {text}" for text in refused]
    raise told("\n".join(lines), found.code)
