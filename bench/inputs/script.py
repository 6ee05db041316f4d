"""Everyday Python: records created, written as JSON, read back, grouped and sorted."""
import json
import random

random.seed(1)
total = 0
for batch in range(25):
    records = [
        {
            "id": i,
            "name": f"record {i} of batch {batch}" + "." * random.randrange(40),
            "tags": [str(random.randrange(7))] * random.randrange(1, 4),
            "value": random.random(),
        }
        for i in range(8000)
    ]
    text = json.dumps(records)
    groups = {}
    for record in json.loads(text):
        groups.setdefault("".join(record["tags"]), []).append(record["name"].upper())
    total += len(text) + sum(len(" ".join(sorted(names))) for names in groups.values())
print(total)
