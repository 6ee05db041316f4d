"""The step of the GitHub action action.yml: runs a command under heaptap, judges its trace, writes a summary. Inputs are environment
variables HEAPTAP_INPUT_…; exit status: that of the command if it isn't 0, else 1 if the trace fails, 3 if it can't be judged.
Python 3.8 and later, without further packages."""
import contextlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

MOST_STACKS = 10
MOST_RUNS = 20
MOST_LISTED = 100


def given(name):
    return os.environ.get(f"HEAPTAP_INPUT_{name}", "").strip()


def is_on(name):
    value = given(name).lower()
    if value not in ("", "true", "false"):
        raise SystemExit(f"heaptap: the input {name.lower()} is true or false, not {value}")
    return value == "true"


def tell(text, level="error"):
    """A message as GitHub Actions shows them."""
    data = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=heaptap::{data}", flush=True)


def append(variable, text):
    """Adds to one of the files that the runner names, if it names one."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8") as file:
            file.write(text)


def output(*words):
    """(exit status, standard output) of a command."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


# --- the earlier trace

def find_baseline(directory):
    """The earlier trace, or a directory of them: what the input names, or else the newest artifact of that name. None: there is none."""
    name = given("BASELINE")
    if not name:
        return None
    if os.path.exists(name):
        return pathlib.Path(name)
    place = directory / "baseline"
    for run in runs_of_branch():
        code, _ = output("gh", "run", "download", run, "--name", name, "--dir", place)
        traces = sorted(place.rglob("*.htap")) if code == 0 else []
        if traces:
            return traces[0] if len(traces) == 1 else traces[0].parent
    return None


def runs_of_branch():
    """Numbers of the newest runs of this workflow that passed on the branch. Debian's gh has no option for those that passed."""
    code, text = output("gh", "run", "list", "--branch", given("BASELINE_BRANCH") or "main", "--workflow", os.environ.get("GITHUB_WORKFLOW", ""),
                        "--limit", MOST_LISTED, "--json", "databaseId,conclusion")
    passed = [str(run["databaseId"]) for run in json.loads(text) if run["conclusion"] == "success"] if code == 0 else []
    return passed[:MOST_RUNS]



# --- the run

def record(heaptap, directory):
    """Runs the command. Its exit status, and the summary; None where nothing was recorded."""
    traces = directory / "traces"
    traces.mkdir()
    words = [heaptap, "run", "-q", "--leak-scan", f"--json={directory / 'summary.json'}", "-o", traces / "trace.htap"]
    for file in given("SUPPRESSIONS").splitlines():
        words += ["--suppressions", file.strip()]
    words += ["--sanity"] if is_on("SANITY") else []
    words += [*shlex.split(given("OPTIONS")), "--", *shlex.split(given("COMMAND"))]
    status = subprocess.run([str(word) for word in words], check=False).returncode
    # Who keeps the traces as an artifact would keep two of them.
    with contextlib.suppress(OSError):
        (traces / "heaptap.latest.htap").unlink()
    try:
        return status, json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return status, None


def processes_of(summary):
    return summary.get("processes") or [summary]


# --- the verdict

class Judgement:
    """What was found: reasons to fail, what isn't known, and a table."""

    def __init__(self):
        self.failures, self.unknown, self.notes = [], [], []
        self.rows, self.stacks = [], []
        self.has_leak = False

    @property
    def verdict(self):
        return "failed" if self.failures else "unknown" if self.unknown else "passed"


def judge(heaptap, traces, baseline, summary):
    judgement = Judgement()
    wants_baseline = bool(given("BASELINE"))
    limits = ["--max-leaked", given("MAX_LEAKED") or "0"] if given("MAX_LEAKED") or not wants_baseline else []
    if baseline:
        limits += ["--baseline", baseline, "--max-growth", given("MAX_GROWTH") or "leaked=0"]
    elif wants_baseline:
        judgement.notes.append(f"There is no trace '{given('BASELINE')}' to compare with: growth is not judged.")
    if limits:
        words = [heaptap, "check", traces, *limits, "--color", "never", "-n", MOST_STACKS]
        code, text = output(*words, "--json")
        print(output(*words)[1], end="", flush=True)
        read_check(judgement, code, text)
    judgement.unknown += [entry["failure"] for entry in processes_of(summary) if entry.get("failure")]
    if is_on("SANITY"):
        read_releases(judgement, summary)
    return judgement


def read_check(judgement, code, text):
    if code == 1:
        judgement.failures.append("a limit is exceeded")
    elif code != 0:
        judgement.unknown.append("a limit can't be judged" if code == 3 else f"heaptap check failed (exit status {code})")
    checked = json.loads(text) if code in (0, 1, 3) else {}
    judgement.unknown += [f"{pathlib.Path(failed['trace']).name}: {failed['reason']}" for failed in checked.get("failed", [])]
    for trace in checked.get("traces", [checked]):
        judgement.notes += [remark if isinstance(remark, str) else remark.get("text", "") for remark in trace.get("remarks", [])]
        for limit in [*trace.get("limits", []), *trace.get("growth", [])]:
            add_limit(judgement, limit)


def add_limit(judgement, limit):
    after = limit["after"] if "after" in limit else limit.get("figure")
    growth = limit.get("growth")
    most = f"{limit['most_percent']:g}%" if limit.get("most_percent") is not None else amount(limit["limit"], limit["most"])
    name = limit["limit"] + (", each stack" if limit.get("each_stack") else "")
    verdict = "**exceeded**" if limit["broken"] else "ok" if limit["judged"] else "**unknown**"
    judgement.rows.append((name, amount(limit["limit"], limit.get("before")), amount(limit["limit"], after), amount(limit["limit"], growth, "+"),
                           ("+" if growth is not None else "") + most, verdict))
    judgement.has_leak |= limit["broken"] and limit["limit"] == "leaked"
    for stack in limit.get("stacks", [])[:MOST_STACKS] if limit["broken"] else []:
        before = stack.get("before")
        figure = stack.get("after") if before is not None else lost_bytes(stack) if limit["limit"] == "leaked" else None
        change = None if figure is None else figure - (before or 0)
        judgement.stacks.append((name, amount(limit["limit"], change, "+"), site(limit, stack)))


def lost_bytes(stack):
    return sum((stack.get("leaks") or {}).get(kind, {}).get("bytes") or 0 for kind in ("definite", "indirect"))


def read_releases(judgement, summary):
    bad = sum(entry["totals"][name] or 0 for entry in processes_of(summary) for name in ("bad_frees", "double_frees", "mismatched_frees"))
    known = all(entry["capture"]["known"]["releases"] for entry in processes_of(summary) if "capture" in entry)
    judgement.rows.append(("invalid releases", "", str(bad), "", "0", "**exceeded**" if bad else "ok" if known else "**unknown**"))
    if bad:
        judgement.failures.append(f"{bad} invalid releases")
    elif not known:
        judgement.unknown.append("it isn't known whether releases are valid")


# --- the summary

def amount(limit, value, sign=""):
    if value is None:
        return ""
    text = f"{value:{sign},}"
    return text if limit.endswith("allocations") else text + " B"


def site(limit, stack):
    """The innermost functions of a stack, with the file and line of the first."""
    nodes, frames, found = limit["nodes"], limit["frames"], []
    node = stack["node"]
    while node and len(found) < 3:
        found.append(frames[nodes["frame"][node]])
        node = nodes["caller"][node]
    first = found[0] if found else {}
    place = f" {pathlib.PurePath(first['file']).name}:{first['line']}" if first.get("file") else ""
    names = [frame.get("function") or "??" for frame in found]
    return " < ".join([names[0] + place, *names[1:]]) if names else stack.get("function", "??")


def code(text):
    """As code in a cell of a table: nothing in it is markup."""
    return "`" + " ".join(text.replace("`", "'").replace("|", "\\|").split()) + "`"


def markdown(judgement, status):
    lines = [f"### heaptap: {judgement.verdict}", "", code(given("COMMAND")), ""]
    if status != 0:
        lines += [f"The command failed with exit status {status}.", ""]
    if judgement.rows:
        lines += ["| figure | before | now | change | limit | |", "|---|--:|--:|--:|--:|---|"]
        lines += [f"| {' | '.join(row)} |" for row in judgement.rows] + [""]
    if judgement.stacks:
        lines += ["| exceeded | by | allocated by |", "|---|--:|---|"]
        lines += [f"| {name} | {change} | {code(place)} |" for name, change, place in judgement.stacks] + [""]
    lines += [f"- {code(note)}" for note in [*judgement.unknown, *judgement.notes] if note]
    return "\n".join(lines) + "\n"


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="heaptap-", dir=os.environ.get("RUNNER_TEMP")))
    heaptap = given("HEAPTAP") or "heaptap"
    status, summary = record(heaptap, directory)
    if summary is None:
        tell(f"heaptap recorded nothing (exit status {status})")
        append("GITHUB_OUTPUT", "verdict=unknown\n")
        return status or 3
    traces = directory / "traces"
    append("GITHUB_OUTPUT", f"trace={traces}\ndirectory={directory}\n")
    whole = traces / ("trace.run" if (traces / "trace.run").exists() else "trace.htap")
    judgement = judge(heaptap, traces, find_baseline(directory), summary)
    if judgement.has_leak:
        print(output(heaptap, "export", "--to", "github", whole)[1], end="", flush=True)
    if is_on("REPORT"):
        report = directory / "report.html"
        if output(heaptap, "report", whole, "-o", report)[0] == 0:
            append("GITHUB_OUTPUT", f"report={report}\n")
    comment = directory / "comment.md"
    comment.write_text(markdown(judgement, status), encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", comment.read_text(encoding="utf-8"))
    append("GITHUB_OUTPUT", f"comment={comment}\nverdict={judgement.verdict}\n")
    for note in judgement.notes:
        tell(note, "warning")
    for reason in [*judgement.failures, *judgement.unknown]:
        tell(reason)
    return status or (1 if judgement.failures else 3 if judgement.unknown else 0)


if __name__ == "__main__":
    sys.exit(main())
