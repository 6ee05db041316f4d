"""Annotations, read as the runner of GitHub Actions reads commands in a job's output (actions/runner, ActionCommand.cs)."""
import re
import unittest

import findings

ESCAPES = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))


def unescape(text, is_property):
    for escape, character in ESCAPES:
        if is_property or escape not in ("%3A", "%2C"):
            text = text.replace(escape, character)
    return text


def commands(text):
    """(command, properties, message) of each line that is a command."""
    for line in text.split("\n"):
        if not line.startswith("::") or (end := line.find("::", 2)) < 0:
            continue
        name, _, rest = line[2:end].partition(" ")
        properties = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
        yield name, {key: unescape(value, True) for key, value in properties.items()}, unescape(line[end + 2:], False)


class Github(findings.TestCase):
    def read(self, text):
        self.assertEqual(text.count("\n"), len(list(commands(text))), "each line is a command")
        return list(commands(text))

    def test_leaks_sum_up_and_have_files_of_the_working_tree(self):
        report = self.record_source()
        read = self.read(self.export("github").decode())
        for kind, words in (("definite", "definitely lost"), ("indirect", "indirectly lost")):
            counts = [re.match(r"(\d+) bytes? in (\d+) blocks? (?:is|are) ", message) for _, properties, message in read
                      if properties["title"] == f"heaptap: {words}"]
            self.assertEqual((sum(int(count[2]) for count in counts), sum(int(count[1]) for count in counts)),
                             findings.lost_by_kind(report)[kind])
        self.assertEqual({properties.get("file") for _, properties, _ in read}, {"src/lost.c"})
        lines = [findings.LOST.splitlines()[int(properties["line"]) - 1].strip() for _, properties, _ in read]
        self.assertEqual(lines, ["struct node* node = malloc(64);", "node->next = malloc(32);"])

    def test_files_elsewhere_are_none(self):
        self.record("leak_shop")
        read = self.read(self.export("github", cwd=self.directory).decode())
        self.assertTrue(read)
        self.assertEqual([properties.get("file") for _, properties, _ in read], [None] * len(read))

    def test_bad_releases(self):
        report = self.record("mismatched", "--sanity")
        read = [command for command in self.read(self.export("github").decode()) if command[1]["title"] == "heaptap: mismatched-free"]
        times = [re.search(r", (\d+) times", message.partition("\n")[0]) for _, _, message in read]
        self.assertEqual(sum(int(found[1]) if found else 1 for found in times), findings.bad_releases(report))

    def test_nothing_found_is_said_only_where_it_is_known(self):
        self.assertEqual([command[0] for command in self.read(self.hostile("github", "clean").decode())], ["notice"])
        for how in ("uncertain", "unscanned"):
            read = self.read(self.hostile("github", how).decode())
            self.assertEqual({command[0] for command in read}, {"warning"})
            self.assertIn("not all leaks are known", read[0][2])

    def test_hostile_names(self):
        read = self.read(self.hostile("github").decode())
        self.assertEqual(len(read), findings.HOSTILE_NAMES + 1)
        for index, name in enumerate(findings.SAFE_NAMES):
            message = next(message for _, _, message in read if message.startswith((f"{2 ** index} bytes in", f"{2 ** index} byte in")))
            self.assertIn(f"\n  {name} ", message)


if __name__ == "__main__":
    unittest.main()
