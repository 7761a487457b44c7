"""Repairs the transcripts of a data set with Ray Data, on all cores of a cluster.

    pip install "ray[data]" pare-llm
    python ray_data.py traces.jsonl fixed/

The library is loaded once in each worker; a batch is a dict of columns. What Ray passes on as a table is JSON
again at the end: to keep every byte of a line as it was, use `pare fix --field` on the files themselves.
"""
import json
import sys

import pare_llm

COLUMN = "sample"  # it holds a request, or a list of messages


def repair(batch):
    """A batch with its transcripts repaired, and two columns more: whether, and what was wrong."""
    fixed, changed, rules = [], [], []
    for sample in batch[COLUMN]:
        text = sample if isinstance(sample, str) else json.dumps(sample, ensure_ascii=False)
        try:
            out, plan = pare_llm.fix(text, receipts=True)
        except pare_llm.PareError as e:  # one line that cannot be read costs no other
            out, plan = text, {"changes": [{"rule": e.type}]}
        fixed.append(out)
        changed.append(out is not text)
        rules.append(sorted({c["rule"] for c in (plan or {}).get("changes", [])}))
    return {**batch, COLUMN: fixed, "changed": changed, "rules": rules}


def main(source, target):
    import ray

    lines = ray.data.read_text(source)  # a line is a row, so that no schema is guessed
    rows = lines.map(lambda row: {"id": json.loads(row["text"]).get("id"), COLUMN: json.dumps(json.loads(row["text"])[COLUMN], ensure_ascii=False)})
    rows.map_batches(repair, batch_format="default", batch_size=256).write_json(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
