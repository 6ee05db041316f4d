"""Build variants of target programs, and their deviations: parser of tests/targets/variants.txt, whose comment describes the
format."""
import dataclasses
import pathlib
import signal

FILE = pathlib.Path(__file__).resolve().parent.parent / "targets" / "variants.txt"
USUAL = "usual"  # the programs that are built in any case


@dataclasses.dataclass
class Variant:
    only_c: bool = False
    programs: list = dataclasses.field(default_factory=list)
    everyday: list = dataclasses.field(default_factory=list)  # of the programs, those that are always built
    long: set = dataclasses.field(default_factory=set)
    without: dict = dataclasses.field(default_factory=dict)  # program -> reason
    differs: dict = dataclasses.field(default_factory=dict)  # program -> what isn't so


def read(file=FILE):
    """name -> Variant; USUAL has no list of programs."""
    variants, programs, everyday, long = {USUAL: Variant()}, [], [], set()
    for line in file.read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word in ("variant", "agent_variant"):
            name, compiler, *_ = rest.split()
            variants[name] = Variant(only_c=compiler == "musl")
        elif word == "programs":
            programs += rest.split()
        elif word == "everyday":
            everyday += rest.split()
        elif word == "long":
            long |= {*rest.split()}
        elif word == "only":
            name, *variants[name].programs = rest.split()
        elif word in ("without", "differs"):
            _except(variants, word, rest)
    for name, variant in variants.items():
        variant.long = long
        if name != USUAL:
            variant.programs = [program for program in variant.programs or programs if program not in variant.without]
            variant.everyday = [program for program in variant.programs if program in everyday]
    return variants


def _except(variants, word, rest):
    head, _, text = rest.partition(": ")
    program, *names = head.split()
    for name in names:
        if word == "without":
            variants[name].without[program] = text
        else:
            variants[name].differs.setdefault(program, []).append(text.rpartition(": ")[0])


def adapt(target, differences):
    """Adapts a program's expectations (expectations.Target) to a variant."""
    for difference in differences:
        word, _, rest = difference.partition(" ")
        for run in target.runs:
            if word == "signal":
                run.status = 128 + getattr(signal, rest)
            elif word == "EXPECT":
                run.expectations = [text for text in run.expectations if not text.startswith(rest)]
        if word == "leaks":
            target.leaks.clean, target.leaks.lines = False, {}
        elif word == "stacks":
            for run in target.runs:
                run.expectations = [text for text in run.expectations if not text.startswith("stack")]
        elif word not in ("signal", "EXPECT"):
            raise ValueError(f"no such difference: {difference}")
